"""The list of sessions: live, filtered by its address, changed many at once."""

import re

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, expect
from tests.dashboard.browsing import PHONE, Tab, needs_chromium, tab_of
from tests.dashboard.writing import append, describe, message, ok
from tests.support.eventually import wait_until

pytestmark = [pytest.mark.e2e, needs_chromium]
ON_BOTH_ENGINES = True


def row(tab: Tab, session: str) -> Locator:
    return tab.page.locator(f'[data-session="{session}"]')


def test_a_row_says_what_the_session_is(tab: Tab, client: httpx2.Client) -> None:
    describe(client, "row-1", userId="ada", agent="main", tags=["billing"], metadata={"title": "An invoice"})
    append(client, "row-1", message("user", "the invoice is wrong"), message("agent", "It is **mended**."))
    tab.go("sessions")
    shown = row(tab, "row-1")
    for words in ("An invoice", "It is mended.", "ada", "main", "billing"):
        expect(shown).to_contain_text(words)
    expect(shown.get_by_title("3 events")).to_have_text("3")
    expect(shown.get_by_title("0 tokens")).to_have_text("—")
    expect(shown.get_by_role("img", name="active")).to_be_visible()
    assert re.search(r"\d{4}", shown.locator("time").get_attribute("title") or "")


def test_a_row_of_a_conversation_has_its_key_events_and_tokens(tab: Tab, client: httpx2.Client) -> None:
    ok(client.post("/api/chat/agent:main:row-2", json={"text": "Hi, my name is Ada."}))
    session = ok(client.get("/api/keys/agent:main:row-2"))["sessionId"]
    head = ok(client.get(f"/api/sessions/{session}"))["metadata"]["headSeq"]
    tab.go("sessions")
    shown = row(tab, session)
    expect(shown).to_contain_text("agent:main:row-2")
    expect(shown.get_by_title(f"{head} events")).to_be_visible()
    expect(shown.get_by_title(re.compile(r"^[1-9][\d,]* tokens$"))).to_be_visible()


def test_what_happens_appears_without_a_reload(tab: Tab, client: httpx2.Client) -> None:
    describe(client, "live-1", userId="grace")
    tab.go("sessions")
    expect(row(tab, "live-1")).to_be_visible()
    expect(tab.page.get_by_text("Live", exact=True)).to_be_visible()
    append(client, "live-1", message("user", "are you there?"))
    expect(row(tab, "live-1")).to_contain_text("are you there?")
    describe(client, "live-2", userId="grace", metadata={"title": "Born while you look"})
    expect(row(tab, "live-2")).to_contain_text("Born while you look")
    ok(client.delete("/api/sessions/live-2"))
    expect(row(tab, "live-2")).to_have_count(0)


def test_filters_and_words_are_in_the_address_and_survive_a_reload(tab: Tab, client: httpx2.Client) -> None:
    describe(client, "kite", userId="ada", tags=["sky"])
    append(client, "kite", message("user", "a red kite above the mill"))
    describe(client, "boat", userId="ada", tags=["sea"])
    append(client, "boat", message("user", "a red boat"))
    tab.go("sessions")
    expect(row(tab, "boat")).to_be_visible()
    tab.page.keyboard.press("/")
    tab.page.keyboard.type("kite mill")
    expect(row(tab, "boat")).to_have_count(0)
    expect(row(tab, "kite")).to_be_visible()
    assert "q=kite" in tab.page.url
    tab.page.reload()
    expect(row(tab, "kite")).to_be_visible()
    expect(row(tab, "boat")).to_have_count(0)
    expect(tab.page.get_by_role("searchbox")).to_have_value("kite mill")
    tab.go("sessions?tag=sea")
    expect(row(tab, "boat")).to_be_visible()
    expect(row(tab, "kite")).to_have_count(0)
    tab.page.get_by_title("Remove this filter").click()
    expect(row(tab, "kite")).to_be_visible()
    tab.go("sessions?q=nobody+ever+said+this")
    tab.page.get_by_role("button", name="Remove all filters").click()
    expect(row(tab, "kite")).to_be_visible()


@pytest.mark.parametrize(
    ("label", "value", "chip"),
    [
        ("User", "filter-ada", "user filter-ada"),
        ("Tag", "filter-sky", "tag filter-sky"),
        ("Agent", "filter-bot", "agent filter-bot"),
    ],
)
def test_each_filter_is_set_in_the_page_kept_and_removed(
    tab: Tab, client: httpx2.Client, label: str, value: str, chip: str
) -> None:
    describe(client, "filter-in", userId="filter-ada", agent="filter-bot", tags=["filter-sky"])
    describe(client, "filter-out", userId="filter-grace", agent="main", tags=["sea"])
    tab.go("sessions")
    expect(row(tab, "filter-out")).to_be_visible()
    tab.page.get_by_role("button", name="Filters").click()
    form = tab.page.get_by_role("form", name="Filters")
    form.get_by_label(label).fill(value)
    edges = "(form) => [...form.querySelectorAll('input, button')].map((each) => each.getBoundingClientRect().right)"
    assert max(form.evaluate(edges)) <= form.evaluate("(form) => form.getBoundingClientRect().right")
    form.get_by_role("button", name="Apply").click()
    expect(row(tab, "filter-out")).to_have_count(0)
    expect(row(tab, "filter-in")).to_be_visible()
    tab.page.reload()
    expect(row(tab, "filter-in")).to_be_visible()
    expect(row(tab, "filter-out")).to_have_count(0)
    tab.page.get_by_role("button", name=chip).click()
    expect(row(tab, "filter-out")).to_be_visible()


def test_status_and_hold_are_filters_too(tab: Tab, client: httpx2.Client) -> None:
    for session in ("state-1", "state-2"):
        describe(client, session, tags=["state"])
    ok(client.post("/api/sessions/state-1/finalize", json={"status": "failed"}))
    ok(client.post("/api/sessions/state-2/hold", json={"held": True}))
    tab.go("sessions?tag=state")
    expect(tab.page.locator("[data-session]")).to_have_count(2)
    tab.page.get_by_label("Status").select_option("failed")
    expect(row(tab, "state-2")).to_have_count(0)
    expect(row(tab, "state-1")).to_be_visible()
    tab.page.get_by_label("Status").select_option("")
    expect(row(tab, "state-2")).to_be_visible()
    tab.page.get_by_role("button", name="Filters").click()
    tab.page.get_by_label("On legal hold").check()
    tab.page.get_by_role("button", name="Apply").click()
    expect(row(tab, "state-1")).to_have_count(0)
    expect(row(tab, "state-2")).to_be_visible()
    ok(client.post("/api/sessions/state-2/hold", json={"held": False}))


@pytest.mark.parametrize(
    ("label", "chip", "out", "inside"),
    [("Began since", "since", "2100-01-02", "2020-01-02"), ("Began before", "before", "2020-01-02", "2100-01-02")],
)
def test_days_are_filters_in_the_time_of_the_reader(
    browser: Browser, gateway_url: str, client: httpx2.Client, label: str, chip: str, out: str, inside: str
) -> None:
    describe(client, "day-1", tags=["day"])
    with tab_of(browser, gateway_url, timezone_id="Asia/Tokyo") as tab:
        tab.go("sessions?tag=day")
        expect(row(tab, "day-1")).to_be_visible()
        for day in (out, inside):
            tab.page.get_by_role("search").get_by_role("button", name="Filters").click()
            tab.page.get_by_label(label).fill(day)
            tab.page.get_by_role("button", name="Apply").click()
            expect(row(tab, "day-1")).to_have_count(int(day == inside))
            tab.page.reload()
            expect(tab.page.get_by_role("button", name=f"{chip} {day}")).to_be_visible()
            expect(row(tab, "day-1")).to_have_count(int(day == inside))
        tab.page.get_by_role("button", name=f"{chip} {inside}").click()
        expect(tab.page.get_by_title("Remove this filter")).to_have_count(1)
        tab.check_calm()


def test_many_are_tagged_archived_and_deleted_at_once(tab: Tab, client: httpx2.Client) -> None:
    for number in range(3):
        describe(client, f"bulk-{number}", userId="linus", tags=["bulk"])
    tab.go("sessions?tag=bulk")
    expect(row(tab, "bulk-2")).to_be_visible()
    keys = tab.page.keyboard
    for key in "jxjx":
        keys.press(key)
    expect(tab.page.get_by_text("2 chosen")).to_be_visible()
    tab.page.get_by_role("button", name="Tag", exact=True).click()
    keys.type("seen, -bulk")
    keys.press("Enter")
    expect(tab.page.get_by_text("2 sessions tagged")).to_be_visible()
    assert ok(client.get("/api/sessions/bulk-2"))["metadata"]["tags"] == ["seen"]
    assert ok(client.get("/api/sessions/bulk-0"))["metadata"]["tags"] == ["bulk"]

    tab.go("sessions?tag=seen")
    expect(row(tab, "bulk-1")).to_be_visible()
    keys.press("j")
    keys.press("e")
    expect(tab.page.get_by_text("1 session archived")).to_be_visible()
    assert ok(client.get("/api/sessions/bulk-2"))["metadata"]["status"] == "archived"
    tab.page.get_by_role("button", name="Undo").click()
    expect(tab.page.get_by_text("1 session as before")).to_be_visible()
    assert ok(client.get("/api/sessions/bulk-2"))["metadata"]["status"] == "active"

    keys.press("#")
    dialog = tab.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Delete 1 session?")
    dialog.get_by_role("button", name="Cancel").click()
    assert client.get("/api/sessions/bulk-2").status_code == 200
    keys.press("#")
    dialog.get_by_role("button", name="Delete").click()
    expect(row(tab, "bulk-2")).to_have_count(0)
    assert client.get("/api/sessions/bulk-2").status_code == 410
    tab.page.get_by_role("button", name="Undo").last.click()
    expect(row(tab, "bulk-2")).to_be_visible()
    assert ok(client.get("/api/sessions/bulk-2"))["metadata"]["tags"] == ["seen"]


def test_a_hold_is_laid_and_released(tab: Tab, client: httpx2.Client) -> None:
    describe(client, "held-1", tags=["held"])
    tab.go("sessions?tag=held")
    expect(row(tab, "held-1")).to_be_visible()
    tab.page.keyboard.press("j")
    tab.page.keyboard.press("h")
    tab.page.keyboard.type("case 17")
    tab.page.keyboard.press("Enter")
    expect(row(tab, "held-1").get_by_text("hold", exact=True)).to_be_visible()
    assert ok(client.get("/api/sessions/held-1"))["metadata"]["held"] is True
    tab.page.get_by_role("button", name="Undo").click()
    expect(tab.page.get_by_text("1 session as before")).to_be_visible()
    expect(row(tab, "held-1").get_by_text("hold", exact=True)).to_have_count(0)
    assert ok(client.get("/api/sessions/held-1"))["metadata"]["held"] is False


def test_unread_until_it_is_opened(tab: Tab, client: httpx2.Client) -> None:
    describe(client, "unread-1", metadata={"title": "Tidings"})
    tab.go("sessions")
    expect(row(tab, "unread-1")).to_be_visible()
    expect(row(tab, "unread-1").get_by_label("Unread")).to_have_count(0)
    append(client, "unread-1", message("agent", "news"))
    expect(row(tab, "unread-1").get_by_label("Unread")).to_be_visible()
    row(tab, "unread-1").get_by_role("link").click()
    expect(tab.page.get_by_role("heading", name="Tidings")).to_be_visible()
    expect(tab.page.get_by_text("news")).to_be_visible()
    tab.page.keyboard.press("u")
    expect(row(tab, "unread-1")).to_be_visible()
    expect(row(tab, "unread-1").get_by_label("Unread")).to_have_count(0)


def test_a_line_says_where_one_looked_last(tab: Tab, client: httpx2.Client) -> None:
    describe(client, "before-1", tags=["seen"])
    append(client, "before-1", message("user", "seen before"))
    tab.go("sessions?tag=seen")
    expect(row(tab, "before-1")).to_be_visible()
    row(tab, "before-1").get_by_role("link").click()
    expect(tab.page.get_by_role("article").get_by_text("seen before")).to_be_visible()
    wait_until(lambda: '"before-1":2' in tab.ask("JSON.stringify(localStorage)").replace("\\", ""), pause=0.05)
    tab.page.keyboard.press("u")
    expect(row(tab, "before-1")).to_be_visible()
    tab.page.goto("about:blank")  # it is kept that this was looked at
    append(client, "before-1", message("agent", "new since"))
    describe(client, "before-2", tags=["seen"])
    tab.go("sessions?tag=seen")
    expect(row(tab, "before-2")).to_be_visible()
    list_of = tab.page.get_by_role("list", name="Sessions")
    expect(list_of).to_contain_text("Last seen")
    places = (
        "(all) => all.map((each) => [each.dataset.session ?? 'line', Math.round(each.getBoundingClientRect().top)])"
    )
    found = dict(tab.page.locator("[data-session], .seen").evaluate_all(places))
    assert found["before-2"] < found["line"] < found["before-1"]
    expect(row(tab, "before-1").get_by_label("Unread")).to_be_visible()
    row(tab, "before-1").get_by_role("link").click()
    expect(tab.page.get_by_role("article").get_by_text("new since")).to_be_visible()
    expect(tab.page.get_by_role("feed").get_by_text("Last seen")).to_be_visible()


def test_pages_follow_as_one_scrolls(tab: Tab, client: httpx2.Client) -> None:
    for number in range(130):
        describe(client, f"page-{number:03}", tags=["paged"])
    tab.go("sessions?tag=paged")
    expect(row(tab, "page-129")).to_be_visible()
    expect(row(tab, "page-000")).to_have_count(0)
    tab.page.get_by_role("region", name="Sessions").hover()
    tab.page.mouse.wheel(0, 5_000)
    expect(tab.page.locator("[data-session]").first).not_to_have_attribute("data-session", "page-129")

    def scrolled_to_the_end() -> int:
        """The end of the first page is not the end: whoever goes on scrolling gets there."""
        tab.page.mouse.wheel(0, 50_000)
        return row(tab, "page-000").count()

    wait_until(scrolled_to_the_end, pause=0.1)
    expect(row(tab, "page-000")).to_be_visible()
    assert tab.ask("document.querySelectorAll('[data-session]').length") < 60


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_in_both_themes(browser: Browser, gateway_url: str, client: httpx2.Client, dark: bool) -> None:
    describe(client, "phone-1", metadata={"title": "A very long title " * 20}, tags=["one", "two", "three", "four"])
    with tab_of(browser, gateway_url, width=PHONE, color_scheme="dark" if dark else "light") as tab:
        tab.go("sessions")
        expect(row(tab, "phone-1")).to_be_visible()
        assert tab.ask("document.documentElement.scrollWidth") <= PHONE
        tab.page.get_by_role("button", name="Menu").click()
        tab.page.get_by_role("navigation").get_by_role("link", name="Approvals").click()
        expect(tab.page.get_by_role("heading", name="Approvals")).to_be_attached()
        tab.check_calm()


def test_help_palette_and_theme_by_keys(tab: Tab) -> None:
    tab.go("sessions")
    expect(tab.page.get_by_text("Live", exact=True)).to_be_visible()
    tab.page.keyboard.press("?")
    expect(tab.page.get_by_role("dialog", name="Keyboard")).to_contain_text("Next session")
    tab.page.keyboard.press("Escape")
    expect(tab.page.get_by_role("dialog")).to_have_count(0)
    tab.page.keyboard.press("Control+k")
    tab.page.keyboard.type("theme dark")
    tab.page.keyboard.press("Enter")
    assert tab.ask("document.documentElement.dataset.theme") == "dark"
    tab.page.keyboard.press("g")
    tab.page.keyboard.press("m")
    expect(tab.page).to_have_url(re.compile(r"#/memory"))
