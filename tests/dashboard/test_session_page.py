"""One session: its transcript from the newest page on, what belongs to it, and replies."""

import re
from typing import Any

import httpx2
import pytest
from playwright.sync_api import expect
from tests.dashboard.browsing import Tab, needs_chromium
from tests.dashboard.screen import Screen
from tests.dashboard.writing import append, describe, message, ok

pytestmark = [pytest.mark.e2e, needs_chromium]
ON_BOTH_ENGINES = True
OPENED_AND_SCROLLED_IN_ONE_FRAME = """async (transcript) => {
  const folded = transcript.querySelectorAll("[aria-expanded=false]");
  folded.forEach((each) => each.click());
  while (transcript.querySelector("[aria-expanded=false]")) await null;  // drawn, and not measured yet
  transcript.scrollTop = transcript.scrollHeight;
  transcript.dispatchEvent(new Event("scroll"));
}"""


def test_who_said_what_with_markdown_and_tools_folded(tab: Tab, client: httpx2.Client) -> None:
    describe(client, "talk-1", userId="ada", agent="main")
    started = {"type": "search", "eventId": "e-1", "details": {"status": "started", "input": {"q": "tea"}}}
    ended = {"type": "search", "parentId": "e-1", "details": {"status": "finished", "output": {"hits": 3}}}
    failed = {"type": "import_failed", "details": {"error": "no such file"}}
    append(
        client,
        "talk-1",
        message("user", "find *tea*"),
        started,
        ended,
        failed,
        message("agent", "| a | b |\n|---|---|\n| 1 | 2 |"),
    )
    tab.go("sessions/talk-1")
    page = tab.page
    expect(page.locator("article.message").first).to_contain_text("ada")
    expect(page.locator("em")).to_have_text("tea")
    expect(page.get_by_role("cell", name="2")).to_be_visible()
    fold = page.get_by_role("button", name=re.compile("^search"))
    expect(fold).to_have_attribute("aria-expanded", "false")
    fold.click()
    expect(page.get_by_label("Arguments")).to_contain_text('"q": "tea"')
    expect(page.get_by_label("Result")).to_contain_text('"hits": 3')
    expect(page.locator("article", has_text="import_failed").locator(".tone-bad")).to_be_visible()


def test_the_newest_page_first_and_older_ones_as_one_scrolls_up(tab: Tab, client: httpx2.Client) -> None:
    for start in range(0, 700, 100):
        append(client, "long-1", *({"type": "note", "details": {"n": start + number}} for number in range(100)))
    tab.go("sessions/long-1")
    expect(tab.page.locator('[data-seq="700"]')).to_be_visible()
    assert len(tab.seqs()) < 100
    tab.page.get_by_role("region", name="Transcript").hover()
    while (top := tab.seqs()[0]) > 1:
        tab.page.mouse.wheel(0, -2_000)
        tab.wait_for_top_below(top)
        seqs = tab.seqs()
        assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    expect(tab.page.locator('[data-seq="1"]')).to_be_visible()
    expect(tab.page.get_by_text("The beginning")).to_be_attached()
    tab.page.keyboard.press("G")
    expect(tab.page.locator('[data-seq="700"]')).to_be_visible()


def test_older_events_that_come_leave_the_reader_where_he_is(tab: Tab, client: httpx2.Client) -> None:
    for start in range(0, 700, 100):
        append(client, "place-1", *({"type": "note", "details": {"n": start + number}} for number in range(100)))
    tab.go("sessions/place-1")
    expect(tab.page.locator('[data-seq="700"]')).to_be_visible()
    transcript = tab.page.get_by_role("region", name="Transcript")
    for first in (501, 301, 101):
        transcript.evaluate("(each) => { each.scrollTop = 0; }")
        tab.wait_for_top_below(first)
        expect(tab.page.locator(f'[data-seq="{first}"]')).to_be_in_viewport()


def test_rows_that_grow_at_the_end_are_followed_to_the_new_end(tab: Tab, client: httpx2.Client) -> None:
    lines = [f"line {number}" for number in range(60)]
    acted: list[dict[str, Any]] = [{"type": "act", "details": {"lines": lines}} for _ in range(60)]
    append(client, "grows-1", *acted)
    tab.go("sessions/grows-1")
    expect(tab.page.locator('[data-seq="60"]')).to_be_in_viewport()
    transcript = tab.page.get_by_role("region", name="Transcript")
    transcript.evaluate(OPENED_AND_SCROLLED_IN_ONE_FRAME)
    expect(tab.page.locator('[data-seq="60"]').get_by_text('"line 59"')).to_be_in_viewport()
    transcript.evaluate("(each) => { each.scrollTop = 0; }")
    expect(tab.page.locator('[data-seq="1"]')).to_be_in_viewport()


def test_one_who_wants_no_motion_begins_at_the_end_too(screen: Screen, client: httpx2.Client) -> None:
    tall = "\n\n".join(f"paragraph {number}" for number in range(30))
    append(client, "calm-1", *(message("agent", tall) for _ in range(12)), message("agent", "the last word"))
    screen.open("sessions/calm-1")
    expect(screen.page.get_by_text("the last word")).to_be_in_viewport()


def test_a_link_leads_to_an_event_and_keys_from_prompt_to_prompt(tab: Tab, client: httpx2.Client) -> None:
    for number in range(4):
        append(
            client,
            "jumps",
            message("user", f"question {number}"),
            *({"type": "note", "details": {"n": n}} for n in range(150)),
        )
    tab.go("sessions/jumps?seq=200")
    expect(tab.page.locator('[data-seq="200"]')).to_be_visible()
    expect(tab.page.locator('[data-seq="200"]')).to_have_class(re.compile("marked"))
    tab.page.keyboard.press("[")
    expect(tab.page.locator('[data-seq="152"]')).to_have_class(re.compile("marked"))
    tab.page.keyboard.press("[")
    expect(tab.page.locator('[data-seq="1"]')).to_have_class(re.compile("marked"))
    for seq in (152, 303, 454):
        tab.page.keyboard.press("]")
        expect(tab.page.locator(f'[data-seq="{seq}"]')).to_have_class(re.compile("marked"))
    for key in "[[[]]":  # faster than the page scrolls, and each counts
        tab.page.keyboard.press(key)
    expect(tab.page.locator('[data-seq="303"]')).to_have_class(re.compile("marked"))


def test_search_inside_leads_to_the_event(tab: Tab, client: httpx2.Client) -> None:
    append(
        client,
        "inside",
        message("user", "the golden needle"),
        *({"type": "note", "details": {"text": f"hay {n}"}} for n in range(300)),
    )
    tab.go("sessions/inside")
    expect(tab.page.locator('[data-seq="301"]')).to_be_visible()
    tab.page.keyboard.press("/")
    tab.page.get_by_placeholder("Words in this session").fill("golden needle")
    tab.page.get_by_role("button", name=re.compile("golden needle")).click()
    expect(tab.page.locator('[data-seq="1"]')).to_have_class(re.compile("marked"))


def test_raw_json_and_a_command_for_a_shell(tab: Tab, client: httpx2.Client) -> None:
    append(client, "raw-1", {"type": "note", "details": {"number": 12345}})
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.go("sessions/raw-1")
    tab.page.locator('[data-seq="1"]').hover()
    tab.page.get_by_role("button", name="Raw JSON of event 1").click()
    dialog = tab.page.get_by_role("dialog")
    expect(dialog).to_contain_text('"number": 12345')
    dialog.get_by_role("button", name="Copy as curl").click()
    copied = tab.ask("navigator.clipboard.readText()")
    assert copied == f"curl -s '{tab.url}/api/sessions/raw-1/events/1'"


def test_state_with_versions_goals_and_a_verified_chain(tab: Tab, client: httpx2.Client) -> None:
    ok(client.patch("/api/state/side", json={"phase": "plan"}))
    ok(client.patch("/api/state/side", json={"phase": "do"}))
    ok(client.post("/api/state/side/goals", json={"description": "land safely"}))
    tab.go("sessions/side?panel=state")
    tab.page.get_by_role("button", name="Version 2").click()
    changes = tab.page.get_by_label("Differences")
    expect(changes).to_contain_text("plan")
    expect(changes).to_contain_text("do")
    tab.page.get_by_role("button", name="Goals").click()
    panel = tab.page.get_by_role("complementary")
    expect(panel).to_contain_text("land safely")
    panel.get_by_label("Status of goal-001").select_option("completed")
    expect(panel).to_contain_text("0 goals open of 1")
    tab.page.get_by_role("button", name="Details and export").click()
    expect(panel).to_contain_text("Chain verified: 4 events")
    with tab.page.expect_download() as saved:
        panel.get_by_role("button", name="JSONL").click()
    lines = saved.value.path().read_text().splitlines()
    assert len(lines) == 4


def test_a_checkpoint_is_made_compared_and_branched(tab: Tab, client: httpx2.Client) -> None:
    ok(client.patch("/api/state/points", json={"phase": "plan"}))
    tab.go("sessions/points?panel=checkpoints")
    tab.page.get_by_role("button", name="Make a checkpoint").click()
    tab.page.keyboard.type("before")
    tab.page.keyboard.press("Enter")
    panel = tab.page.get_by_role("complementary")
    expect(panel.get_by_text("before", exact=True).first).to_be_visible()
    ok(client.patch("/api/state/points", json={"phase": "do"}))
    panel.get_by_label("From").select_option(label="before")
    panel.get_by_role("button", name="Compare").click()
    expect(panel.get_by_label("Differences")).to_contain_text("phase")
    panel.get_by_role("button", name="Branch").click()
    expect(tab.page).not_to_have_url(re.compile("sessions/points"))
    expect(tab.page.get_by_text(re.compile("Branched from points"))).to_be_visible()


def test_a_reply_is_said_once_and_answered(tab: Tab, client: httpx2.Client) -> None:
    ok(client.post("/api/chat/agent:main:page", json={"text": "Hi, my name is Ada."}))
    session = ok(client.get("/api/keys/agent:main:page"))["sessionId"]
    tab.go(f"sessions/{session}")
    expect(tab.page.get_by_text("Nice to meet you, Ada.")).to_be_visible()
    tab.page.keyboard.press("r")
    tab.page.keyboard.type("What is my name?")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("article.agent, article.message", has_text="Your name is Ada.")).to_have_count(1)
    expect(tab.page.locator("article.message", has_text="What is my name?")).to_have_count(1)
    history = ok(client.get("/api/chat/agent:main:page/history"))
    assert [each["text"] for each in history["messages"]].count("What is my name?") == 1


def test_an_unknown_session_says_so(tab: Tab) -> None:
    tab.go("sessions/nobody")
    expect(tab.page.get_by_text("There is no such session")).to_be_visible()
