"""What went wrong in a session is seen at once: tools that failed or never ended, turns that broke, a log that was
changed."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.conftest import ENGINES
from tests.dashboard.browsing import Tab, needs_chromium, tab_of
from tests.gateway.process import running
from tests.gateway.test_transfer import damage
from tests.support.postgres import Server

from holdfast.core import NewEvent, TaskState
from holdfast.store import open_store

pytestmark = [pytest.mark.e2e, needs_chromium]

CHANGED = "UPDATE transcript_events SET payload = {blob} WHERE seq = 3 AND session_no = "
OF_BROKEN = "(SELECT session_no FROM sessions WHERE session_id = 'broken')"


def said(role: str, text: str, **more: str) -> NewEvent:
    """A message."""
    return NewEvent("message", {"role": role, "parts": [{"text": text}], **more})


async def fill(url: str) -> None:
    """Sessions as a dead process, a failed tool and a careless hand leave them."""
    async with await open_store(url) as store:
        await store.sessions.create("wrong", user_id="ada", metadata={"title": "What went wrong"})
        await store.append("wrong", [said("user", "send it")])
        await store.effects.start("wrong", "call-1", "send_money", {"to": "grace"}, shown='{"to": "grace"}')
        await store.effects.start("wrong", "call-2", "read_receipt", {"of": "call-1"}, shown='{"of": "call-1"}')
        await store.effects.finish("wrong", "call-2", "failed", "no such receipt")
        asked = NewEvent("message", {"role": "user", "messageId": "m-1", "parts": [{"text": "and now?"}]})
        task = (await store.tasks.begin("wrong", "t-1", "c-1", asked, owner="nobody")).task
        task = await store.tasks.update(task, TaskState.WORKING, {})
        why = {"role": "agent", "messageId": "m-2", "parts": [{"text": "the model is away"}]}
        await store.tasks.update(task, TaskState.FAILED, {"statusMessage": why})
        await store.append(
            "wrong", [NewEvent("import_failed", {"error": "no such file"}), said("agent", "I am sorry.")]
        )
        await store.sessions.finalize("wrong", status="interrupted")
        await store.append("broken", [NewEvent("note", {"n": number}) for number in range(1, 7)])


@pytest.fixture(scope="module", params=ENGINES)
def gateway_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A gateway on a store to which that happened."""
    data: Path = tmp_path_factory.mktemp("wrong")
    url = f"sqlite:///{data}/holdfast.db"
    if request.param == "postgresql":
        server: Server = request.getfixturevalue("postgres")
        url = server.new_store()
    with ThreadPoolExecutor(1) as aside:  # Playwright's loop runs in this thread
        aside.submit(asyncio.run, fill(url)).result()
    damage(url, CHANGED + OF_BROKEN)
    with running(data, "--store", url) as gateway:
        yield gateway.url


@pytest.fixture
def tab(browser: Browser, gateway_url: str) -> Iterator[Tab]:
    with tab_of(browser, gateway_url) as opened:
        yield opened
        opened.check_calm()


def test_effects_that_never_ended_are_red_and_say_what_to_do(tab: Tab) -> None:
    tab.go("sessions?status=interrupted")
    row = tab.page.locator('[data-session="wrong"]')
    expect(row).to_contain_text("1 unresolved effect")
    expect(row.get_by_role("img", name="interrupted")).to_be_visible()
    row.get_by_role("link").click()
    open_one = tab.page.get_by_role("button", name="send_money")
    expect(open_one).to_contain_text("Unresolved")
    red = tab.ask("getComputedStyle(document.querySelector('.fold.tone-bad')).backgroundColor")
    plain = tab.ask("getComputedStyle(document.querySelector('.message.user')).backgroundColor")
    assert red != plain
    expect(tab.page.locator(".fold.tone-bad", has=open_one)).to_be_visible()
    open_one.click()
    article = tab.page.locator("article", has=open_one)
    expect(article).to_contain_text("it may have happened or not")
    expect(article.get_by_label("Arguments")).to_contain_text('"to": "grace"')
    expect(tab.page.get_by_role("main").get_by_text("1 unresolved effect")).to_be_visible()


def test_the_overview_names_the_session_and_leads_to_it(tab: Tab) -> None:
    tab.go("overview")
    worst = tab.page.get_by_role("region", name="What is wrong").get_by_role("listitem").first
    expect(worst).to_contain_text("1 effect of a tool has begun and never ended")
    expect(worst.get_by_text("holdfast sessions show wrong", exact=True)).to_be_visible()
    worst.get_by_role("link", name="Open wrong").click()
    expect(tab.page.get_by_role("heading", name="What went wrong")).to_be_visible()


def test_failures_and_interruptions_are_marked(tab: Tab) -> None:
    tab.go("sessions/wrong")
    failed = tab.page.locator(".fold.tone-bad", has=tab.page.get_by_role("button", name="read_receipt"))
    expect(failed).to_contain_text("Failed")
    expect(tab.page.locator(".fold.tone-bad", has_text="import_failed")).to_be_visible()
    expect(tab.page.locator(".line.bad")).to_contain_text("The turn failed: the model is away")
    expect(tab.page.locator(".line.warn").last).to_contain_text("Session interrupted")


def test_a_log_that_was_changed_is_said_on_its_page(tab: Tab) -> None:
    tab.go("sessions/broken?panel=details")
    expect(tab.page.get_by_text("chain broken")).to_be_visible()
    panel = tab.page.get_by_role("complementary")
    expect(panel).to_contain_text("The chain is broken at event 3")
    expect(tab.page.get_by_role("alert")).to_contain_text("(event 3)")
    expect(tab.page.get_by_text("Chain verified")).to_have_count(0)
