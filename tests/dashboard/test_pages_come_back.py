"""What could not be read is read again by itself, and what was deleted can be brought back from its own page."""

import json

import httpx2
import pytest
from playwright.sync_api import Route, WebSocketRoute, expect
from tests.dashboard.browsing import Tab, needs_chromium
from tests.dashboard.screen import Screen
from tests.dashboard.writing import append, describe, message, ok

pytestmark = [pytest.mark.e2e, needs_chromium]

LIVE, AWAY, CONNECTED = "Live", "Reconnecting…", "Connected"


class Line:
    """The way from the page to some of the gateway's routes, which can be cut."""

    def __init__(self, tab: Tab, path: str) -> None:
        self.cut = True
        self.tried = 0
        tab.page.route(path, self._pass_or_not)

    def _pass_or_not(self, route: Route) -> None:
        self.tried += 1
        route.abort() if self.cut else route.continue_()


def says(tab: Tab, words: str) -> None:
    """Wait until the frame says so of its connection."""
    expect(tab.page.get_by_role("navigation", name="Pages").get_by_role("status")).to_have_text(words)


@pytest.mark.parametrize("place", ["overview", "proofs", "memory", "administration?tab=audit", "sessions", "approvals"])
def test_a_page_that_could_not_be_read_comes_by_itself(screen: Screen, client: httpx2.Client, place: str) -> None:
    ok(client.post("/api/retention", json={"maxSessions": 1_000_000, "dryRun": True}))
    screen.open("nothing")
    says(screen.tab, CONNECTED)
    line = Line(screen.tab, "**/api/**")
    health = Line(screen.tab, "**/health")
    screen.page.evaluate(f"location.hash = '#/{place}'")
    trouble = screen.page.get_by_role("alert").filter(has_text="The gateway cannot be reached")
    expect(trouble).to_be_visible()
    says(screen.tab, AWAY)
    line.cut = health.cut = False
    expect(trouble).to_have_count(0)
    expect(screen.page.locator("main [aria-busy=true]")).to_have_count(0)
    says(screen.tab, LIVE if place in {"sessions", "approvals"} else CONNECTED)


def test_a_session_that_could_not_be_read_at_first_is_followed_then(tab: Tab, client: httpx2.Client) -> None:
    append(client, "late-1", message("user", "the first words"))
    tab.go("nothing")
    says(tab, CONNECTED)
    line = Line(tab, "**/api/sessions/**")
    tab.page.evaluate("location.hash = '#/sessions/late-1'")
    expect(tab.page.get_by_role("alert")).to_contain_text("cannot be reached")
    line.cut = False
    article = tab.page.get_by_role("article")
    expect(article.get_by_text("the first words")).to_be_visible()
    says(tab, LIVE)
    append(client, "late-1", message("agent", "the next words"))
    expect(article.get_by_text("the next words")).to_be_visible()


def test_older_events_that_did_not_come_are_asked_for_again(tab: Tab, client: httpx2.Client) -> None:
    for start in range(0, 400, 100):
        append(client, "older-1", *({"type": "note", "details": {"n": start + n}} for n in range(100)))
    tab.go("sessions/older-1")
    expect(tab.page.locator('[data-seq="400"]')).to_be_visible()
    line = Line(tab, "**/events?*before=*")
    tab.page.get_by_role("region", name="Transcript").hover()
    tab.page.mouse.wheel(0, -100_000)
    expect(tab.page.get_by_text("Reading older events…")).to_be_visible()
    tab.wait_until(lambda: line.tried > 1)
    line.cut = False
    tab.wait_for_top_below(201)


def test_what_lies_between_is_read_again_until_it_comes(tab: Tab, client: httpx2.Client) -> None:
    """The feed leaves out some events: what lies between is asked for, and what came meanwhile is kept."""

    def leave_out(route: WebSocketRoute) -> None:
        server = route.connect_to_server()

        def pass_on(said: str | bytes) -> None:
            if json.loads(said).get("seq") not in {4, 5, 6}:
                route.send(said)

        server.on_message(pass_on)

    append(client, "gap-1", *(message("user", f"words {n}") for n in (1, 2)))
    tab.page.route_web_socket("**/ws?*", leave_out)
    tab.go("sessions/gap-1")
    expect(tab.page.locator('[data-seq="2"]')).to_be_visible()
    says(tab, LIVE)
    append(client, "gap-1", message("agent", "words 3"))
    expect(tab.page.locator('[data-seq="3"]')).to_be_visible()
    line = Line(tab, "**/events?*after=*")
    append(client, "gap-1", *(message("agent", f"words {n}") for n in (4, 5, 6, 7)))
    append(client, "gap-1", message("agent", "words 8"))
    tab.wait_until(lambda: line.tried > 1)
    assert tab.seqs()[-1] == 3
    line.cut = False
    expect(tab.page.locator('[data-seq="8"]')).to_be_visible()
    assert tab.seqs() == list(range(1, 9))
    assert line.tried > 1


def test_a_session_that_is_deleted_under_its_reader_is_brought_back(tab: Tab, client: httpx2.Client) -> None:
    describe(client, "gone-1", metadata={"title": "A short life"})
    append(client, "gone-1", message("user", "the only words"))
    tab.go("sessions/gone-1?panel=details")
    article = tab.page.get_by_role("article")
    expect(article.get_by_text("the only words")).to_be_visible()
    says(tab, LIVE)
    ok(client.delete("/api/sessions/gone-1"))
    expect(tab.page.get_by_text("This session was deleted")).to_be_visible()
    expect(article).to_have_count(0)
    expect(tab.page.get_by_role("complementary")).to_have_count(0)
    tab.page.reload()
    expect(tab.page.get_by_text("This session was deleted")).to_be_visible()
    tab.page.get_by_role("button", name="Undelete").click()
    expect(article.get_by_text("the only words")).to_be_visible()
    says(tab, LIVE)
    append(client, "gone-1", message("agent", "words after all"))
    expect(article.get_by_text("words after all")).to_be_visible()
