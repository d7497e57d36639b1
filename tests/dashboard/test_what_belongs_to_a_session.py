"""What belongs to a session and is beside its transcript or inside it: all of it shown, and all of it can be taken."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Locator, expect
from tests.dashboard.browsing import Tab, needs_chromium
from tests.dashboard.whole_session import NOTES, Whole, picture, whole_session
from tests.dashboard.writing import append, message, ok
from tests.support.eventually import wait_until

pytestmark = [pytest.mark.e2e, needs_chromium]
ON_BOTH_ENGINES = True

SIZE_OF_PICTURES = "(all) => all.map((each) => [each.src.split(':')[0], each.naturalWidth, each.naturalHeight])"


@pytest.fixture(scope="module")
def whole(client: httpx2.Client) -> Whole:
    """A session to look at; tests that change one make their own."""
    return whole_session(client, "belongs")


def beside(tab: Tab, session: str, panel: str) -> Locator:
    """A panel of the session's page."""
    tab.go(f"sessions/{session}?panel={panel}")
    found = tab.page.get_by_role("complementary")
    expect(found).to_be_visible()
    return found


def saved(tab: Tab, click: Callable[[], None]) -> tuple[str, bytes]:
    """The name and the bytes of what is downloaded."""
    with tab.page.expect_download() as download:
        click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_two_points_are_compared(tab: Tab, whole: Whole) -> None:
    panel = beside(tab, whole.session, "checkpoints")
    first, second = panel.get_by_role("combobox").nth(0), panel.get_by_role("combobox").nth(1)
    first.select_option(label="before the summary")
    second.select_option(label="planned")
    panel.get_by_role("button", name="Compare").click()
    differences = panel.get_by_label("Differences")
    expect(differences).to_contain_text("plan")
    expect(differences).not_to_contain_text("cause")
    expect(panel).to_contain_text("state updated 1")
    first.select_option(label="planned")
    second.select_option("now")
    panel.get_by_role("button", name="Compare").click()
    expect(differences).to_contain_text("cause")


def test_a_checkpoint_is_restored_and_its_session_stays(tab: Tab, client: httpx2.Client) -> None:
    own = whole_session(client, "restored")
    before = client.get(f"/api/sessions/{own.session}/log").content
    panel = beside(tab, own.session, "checkpoints")
    point = panel.get_by_role("listitem").filter(has_text="planned")
    point.get_by_role("button", name="Restore").click()
    dialog = tab.page.get_by_role("dialog")
    expect(dialog).to_contain_text("This session stays as it is")
    dialog.get_by_role("button", name="Cancel").click()
    assert ok(client.get(f"/api/keys/{own.key}"))["sessionId"] == own.session
    point.get_by_role("button", name="Restore").click()
    dialog.get_by_role("button", name="Restore").click()
    expect(tab.page.get_by_text("this is the session that took its place")).to_be_visible()
    now = ok(client.get(f"/api/keys/{own.key}"))["sessionId"]
    assert now != own.session
    expect(tab.page).to_have_url(re.compile(re.escape(f"#/sessions/{now}")))
    expect(tab.page.get_by_text("Nice to meet you, Ada.").first).to_be_attached()
    assert ok(client.get(f"/api/state/{now}"))["phase"] == "plan"
    assert client.get(f"/api/sessions/{own.session}/log").content.startswith(before)


def test_pictures_are_shown_and_files_are_saved_as_they_were_sent(tab: Tab, whole: Whole) -> None:
    panel = beside(tab, whole.session, "files")
    expect(panel).to_contain_text("2 files")
    pictures = panel.get_by_role("img", name="chart.png")
    expect(pictures).to_be_visible()
    wait_until(lambda: pictures.evaluate_all(SIZE_OF_PICTURES) == [["blob", 8, 6]])
    expect(panel.get_by_role("img", name="notes.txt")).to_have_count(0)
    for name, sent in (("chart.png", picture()), ("notes.txt", NOTES)):
        got = saved(tab, panel.get_by_role("button", name=f"Save {name}").click)
        assert got == (name, sent)
    panel.get_by_role("button", name=re.compile("^Event")).first.click()
    inside = tab.page.locator("article.marked").first
    expect(inside).to_be_visible()
    tab.go(f"sessions/{whole.session}?seq=1")
    shown = tab.page.get_by_role("region", name="Transcript").get_by_role("img", name="chart.png").first
    expect(shown).to_be_visible()


def test_a_compaction_opens_to_its_summary_and_originals(tab: Tab, whole: Whole) -> None:
    tab.go(f"sessions/{whole.session}")
    line = tab.page.locator("article.compaction").first
    opener = line.get_by_role("button", name=re.compile(r"\d+ events summed up"))
    expect(opener).to_have_attribute("aria-expanded", "false")
    opener.click()
    expect(line.locator("em")).to_have_text("originals")
    line.get_by_role("button", name="Show the originals").click()
    expect(line.get_by_text("the first of the originals")).to_be_visible()
    expect(line.get_by_text("the last of them")).to_be_visible()
    expect(line.get_by_text("A head")).to_have_count(0)
    expect(line.get_by_role("button", name=re.compile("originals$"))).to_have_count(0)


def test_sub_agents_and_what_is_below_them_with_its_totals(tab: Tab, client: httpx2.Client, whole: Whole) -> None:
    panel = beside(tab, whole.session, "agents")
    totals = ok(client.get(f"/api/sessions/{whole.session}/children"))["totals"]
    expect(panel).to_contain_text(f"3 sub-agents, 2 sessions below: {totals['events']} events")
    for agent, status in (("a-1", "completed"), ("a-2", "failed"), ("a-3", "active")):
        node = panel.get_by_role("treeitem").filter(has_text=f"helper {agent}")
        expect(node.get_by_role("img", name=status)).to_be_visible()
    child = panel.get_by_role("treeitem").filter(has_text="Which sessions grew")
    child.get_by_role("button", name="1 session below").click()
    below = child.get_by_role("treeitem").filter(has_text="Count them")
    expect(below).to_contain_text("6 events")
    expect(child.locator("> .node")).to_contain_text("9 events")
    below.get_by_role("link", name="counter").click()
    expect(tab.page.get_by_role("heading", name="Count them")).to_be_visible()


def test_memories_of_the_session_and_of_others(tab: Tab, whole: Whole) -> None:
    panel = beside(tab, whole.session, "memory")
    colour = panel.get_by_role("listitem").filter(has_text="colour")
    expect(colour).to_contain_text("blue")
    expect(colour).to_contain_text("version 1 · from this session")
    expect(panel.get_by_role("listitem").filter(has_text="zone")).to_contain_text("Europe/London")
    panel.get_by_label("Namespace").select_option("user:elsewhere")
    expect(panel.get_by_role("listitem").filter(has_text="secret")).to_be_visible()
    expect(panel.get_by_role("listitem")).to_have_count(1)
    panel.get_by_role("link", name="All of it").click()
    expect(tab.page).to_have_url(re.compile("#/memory"))


def test_exports_are_what_the_gateway_gives(tab: Tab, client: httpx2.Client, whole: Whole) -> None:
    panel = beside(tab, whole.session, "details")
    path = f"/api/sessions/{whole.session}"
    name, text = saved(tab, panel.get_by_role("button", name="Markdown").click)
    assert name.endswith(".md")
    assert text == client.get(f"{path}/markdown").content
    name, lines = saved(tab, panel.get_by_role("button", name="JSONL").click)
    assert name.endswith(".jsonl")
    assert lines == client.get(f"{path}/log").content
    head = ok(client.get(path))["metadata"]["headSeq"]
    assert [json.loads(line)["seq"] for line in lines.splitlines()] == list(range(1, head + 1))
    name, archive = saved(tab, panel.get_by_role("button", name="Archive").click)
    assert name.endswith(".holdfast")
    assert hashlib.sha256(picture()).hexdigest().encode() in archive
    assert len(archive) > 0


def test_a_message_before_a_thousand_notes_of_the_store_is_shown(tab: Tab, client: httpx2.Client) -> None:
    append(client, "noted", message("user", "the only words"))
    for number in range(1_000):
        ok(client.post("/api/sessions/noted/checkpoints", json={"name": f"point {number}"}))
    tab.go("sessions/noted")
    expect(tab.page.get_by_role("article").get_by_text("the only words")).to_be_visible()
    expect(tab.page.get_by_text("1,001 events")).to_be_visible()
    tab.page.keyboard.press("a")
    expect(tab.page.locator('[data-seq="1001"]')).to_be_visible()
