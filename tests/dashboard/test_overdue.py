"""A browser that gives no answer fails one test, in time, and that test says what its page was like."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error
from tests.dashboard.browsing import needs_chromium, tab_of
from tests.dashboard.overdue import PAGES, watch

pytestmark = [pytest.mark.e2e, needs_chromium]


def test_a_page_that_answers_no_more_is_ended_and_the_next_one_works(
    browser: Browser, gateway_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Error) as failed, tab_of(browser, gateway_url) as tab:
        tab.go("sessions")
        tab.page.evaluate("console.log('the last words')")
        tab.wait_until(lambda: tab.console)
        with watch(0.5) as watched:
            tab.page.evaluate("() => { for (;;); }")
    assert watched.ended == PAGES.decode()
    (note,) = failed.value.__notes__
    (kept,) = tmp_path.glob(".artifacts/dashboard/test_overdue*/1.txt")
    for told in (note, kept.read_text()):
        assert f"{gateway_url}/#/sessions" in told
        assert "log: the last words" in told
        assert "the page was ended" in told
    with tab_of(browser, gateway_url) as another:
        another.go("sessions")
        another.page.get_by_text("No sessions yet").wait_for()
        note = another.evidence()
    (picture,) = tmp_path.glob(".artifacts/dashboard/*/2.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.parent.name in note
