"""Every page and what opens over it, light and dark: axe finds nothing serious."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect
from tests.dashboard import samples
from tests.dashboard.axe import COLOURS, grave_violations
from tests.dashboard.browsing import PHONE, needs_chromium
from tests.dashboard.guarded import Guarded
from tests.dashboard.screen import Screen, new_screen
from tests.dashboard.whole_session import Whole, whole_session
from tests.dashboard.writing import append, describe, message, ok

pytestmark = [pytest.mark.e2e, needs_chromium]
ON_BOTH_ENGINES = True

PAGES = {
    "overview": "Sessions begun",
    "approvals": "May I append",
    "memory": "user:ada",
    "memory?namespace=user:ada": "favourite",
    "proofs": "Over time",
    "administration": "ci",
    "administration?tab=audit": "/api/",
    "administration?tab=retention": "Dry run",
    "administration?tab=archives": "Undelete",
    "administration?tab=backup": "Back up now",
    "nowhere": "There is no such page",
    "sessions/nobody": "There is no such session",
    "sessions/deleted-one": "This session was deleted",
}
"""What is on each of them, once it is there."""
PANELS = {
    "search": "Words in this session",
    "state": "Version 2",
    "goals": "goal number 3",
    "agents": "helper a-2",
    "checkpoints": "planned",
    "memory": "colour",
    "files": "notes.txt",
    "details": "Chain verified",
}
"""The same for what is beside a session."""


class Filled:
    """A gateway that asks for tokens, with something on every page."""

    def __init__(self, guarded: Guarded) -> None:
        client = guarded.operator
        self.url = guarded.url
        self.token = guarded.operator_token
        self.whole: Whole = whole_session(client, "axe")
        for status in ("active", "completed", "failed", "interrupted", "archived", "cancelled"):
            describe(client, f"is-{status}", userId="ada", tags=["one", "two", "three", "four"])
            append(client, f"is-{status}", message("user", f"is it {status}?"), message("agent", "**It** is."))
            if status != "active":
                ok(client.post(f"/api/sessions/is-{status}/finalize", json={"status": status}))
        ok(client.post("/api/sessions/is-failed/hold", json={"held": True, "reason": "case 17"}))
        describe(client, "deleted-one")
        ok(client.delete("/api/sessions/deleted-one?reason=moved"))
        samples.ask(client, "axe")
        samples.remember(client, "user:ada", "favourite", "tea")
        samples.remember(client, "user:ada", "zone", {"name": "Europe/London"})
        ok(client.post("/api/tokens", json={"name": "ci", "scopes": ["proofs"]}))
        assert client.get("/api/sessions/nowhere").status_code == 404
        self.runs = samples.post_runs(client, 4)


@pytest.fixture(scope="module")
def filled(guarded: Guarded) -> Filled:
    return Filled(guarded)


class Looker:
    """Looks at one place after the other, and keeps what is wrong."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.wrong: list[str] = []

    def look(self, what: str) -> None:
        """Look at what is shown now: by daylight, and in the dark at its colours, which alone are others then."""
        page = self.screen.page
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        self.wrong += [f"{what}: {each}" for each in grave_violations(page)]
        page.emulate_media(color_scheme="dark")
        self.wrong += [f"{what}, dark: {each}" for each in grave_violations(page, COLOURS)]
        page.emulate_media(color_scheme="light")

    def at(self, place: str, words: str) -> None:
        """Go there, wait for these words, look."""
        self.screen.open(place)
        expect(self.screen.page.get_by_role("main").get_by_text(words).first).to_be_visible()
        self.look(place)

    def over(self, what: str, opens: Callable[[], None]) -> None:
        """Open a dialog, look, and close it."""
        opens()
        expect(self.screen.page.get_by_role("dialog").last).to_be_visible()
        self.look(what)
        self.screen.page.keyboard.press("Escape")
        expect(self.screen.page.get_by_role("dialog")).to_have_count(0)


def test_nothing_serious_is_wrong(browser: Browser, filled: Filled) -> None:
    with new_screen(browser, filled.url) as screen:
        looker = Looker(screen)
        screen.open("sessions")
        screen.page.get_by_label("Token", exact=True).fill("hf_wrong")
        screen.button("Go on").click()
        expect(screen.page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
        looker.look("token dialog")
        screen.page.get_by_label("Token", exact=True).fill(filled.token)
        screen.button("Go on").click()
        look_at_sessions(looker)
        look_at_one_session(looker, filled.whole.session)
        for place, words in PAGES.items():
            looker.at(place, words)
        looker.at(f"proofs/{filled.runs[1]}", "Where it broke")
        looker.at(f"proofs/{filled.runs[3]}?with={filled.runs[1]}", "changed")
        assert not looker.wrong, "\n".join(looker.wrong)


def look_at_sessions(looker: Looker) -> None:
    """The list, as it is used."""
    screen = looker.screen
    keys = screen.page.keyboard
    row = screen.page.locator('[data-session="is-active"]')
    expect(row).to_be_visible()
    looker.look("list")
    screen.button("Filters").click()
    expect(screen.page.get_by_role("form", name="Filters")).to_be_visible()
    looker.look("list with filters open")
    keys.press("Escape")
    for key in "jxjx":
        keys.press(key)
    expect(screen.page.get_by_text("2 chosen")).to_be_visible()
    row.hover()
    looker.look("list with chosen rows")
    looker.over("question before a deletion", lambda: keys.press("#"))
    looker.over("question with an answer", lambda: keys.press("l"))
    keys.press("Escape")
    looker.over("command palette", lambda: keys.press("Control+k"))
    looker.over("keyboard help", lambda: keys.press("?"))
    looker.at("sessions?q=nobody+ever+said+this&tag=x", "No session fits")


def look_at_one_session(looker: Looker, session: str) -> None:
    """One session with each of its panels, and with all of its entries open."""
    screen = looker.screen
    for panel, words in PANELS.items():
        screen.open(f"sessions/{session}?panel={panel}")
        beside = screen.page.get_by_role("complementary")
        if panel == "search":
            expect(beside.get_by_placeholder(words)).to_be_visible()
            beside.get_by_placeholder(words).fill("originals")
            expect(beside.get_by_role("button", name="originals").first).to_be_visible()
        else:
            expect(beside.get_by_text(words).first).to_be_visible()
        looker.look(f"panel {panel}")
    screen.open(f"sessions/{session}?seq=2")
    expect(screen.page.locator(".marked")).to_be_visible()
    looker.look("transcript with a marked event")
    screen.page.keyboard.press("a")
    folds = screen.page.locator("article button[aria-expanded=false]")
    expect(folds.first).to_be_visible()
    for _ in range(folds.count()):
        folds.last.click()
        looker.screen.page.keyboard.press("G")
    looker.look("transcript with what can be opened")
    looker.over("raw JSON", lambda: screen.page.locator("article").last.get_by_label("Raw JSON").click())


def test_nothing_serious_is_wrong_on_a_phone(browser: Browser, filled: Filled) -> None:
    with new_screen(browser, filled.url, width=PHONE) as screen:
        looker = Looker(screen)
        screen.open("sessions")
        screen.page.get_by_label("Token", exact=True).fill(filled.token)
        screen.button("Go on").click()
        expect(screen.page.locator('[data-session="is-active"]')).to_be_visible()
        looker.look("list")
        screen.button("Menu").click()
        menu = screen.page.get_by_role("navigation", name="Pages")
        expect(menu.get_by_role("link").first).to_be_in_viewport(ratio=1)
        looker.look("list with the menu open")
        looker.at(f"sessions/{filled.whole.session}", "A head")
        looker.at("administration?tab=archives", "Undelete")
        assert not looker.wrong, "\n".join(looker.wrong)
