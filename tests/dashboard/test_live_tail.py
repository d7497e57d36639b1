"""A page that follows a session while its gateway is killed and comes back: no line is lost, none is doubled."""

import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.dashboard.browsing import Tab, needs_chromium, tab_of
from tests.dashboard.writing import append
from tests.gateway.process import Running, running
from tests.support.web import web_client

pytestmark = [pytest.mark.e2e, needs_chromium]

PIECE = 20


def write(gateway: Running, first: int) -> None:
    """One more piece of a log, in two requests."""
    with web_client(base_url=gateway.url) as client:
        for start in (first, first + PIECE // 2):
            append(client, "tail", *({"type": "note", "details": {"n": start + n}} for n in range(PIECE // 2)))


def seen(tab: Tab, last: int) -> None:
    """Every seq is in the page once, in order, from the first to the last."""
    expect(tab.page.locator(f'[data-seq="{last}"]')).to_be_visible()
    found = tab.seqs()
    assert found == list(range(found[0], last + 1))
    tab.page.get_by_role("region", name="Transcript").hover()
    all_of_them = set(found)
    while 1 not in all_of_them:
        top = tab.seqs()[0]
        tab.page.mouse.wheel(0, -300)
        tab.wait_for_top_below(top)
        found = tab.seqs()
        assert found == list(range(found[0], found[0] + len(found)))
        all_of_them.update(found)
    assert all_of_them == set(range(1, last + 1))


def test_a_killed_gateway_that_comes_back(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path / "data") as first:
        write(first, 0)
        with tab_of(browser, first.url) as tab:
            tab.go("sessions/tail")
            expect(tab.page.locator(f'[data-seq="{PIECE}"]')).to_be_visible()
            expect(tab.page.get_by_text("Live", exact=True)).to_be_visible()
            write(first, PIECE)
            expect(tab.page.locator(f'[data-seq="{2 * PIECE}"]')).to_be_visible()
            first.process.send_signal(signal.SIGKILL)
            first.process.wait()
            expect(tab.page.get_by_text("Reconnecting…")).to_be_visible()
            with running(tmp_path / "data", port=int(first.url.rsplit(":", 1)[1])) as second:
                write(second, 2 * PIECE)
                seen(tab, 3 * PIECE)
                expect(tab.page.get_by_text("Live", exact=True)).to_be_visible()
                tab.check_calm()


def test_another_gateway_writes_while_the_own_one_is_dead(browser: Browser, tmp_path: Path, postgres_url: str) -> None:
    store = ("--store", postgres_url)
    with running(tmp_path / "a", *store) as own, running(tmp_path / "b", *store) as other:
        write(other, 0)
        with tab_of(browser, own.url) as tab:
            tab.go("sessions/tail")
            expect(tab.page.locator(f'[data-seq="{PIECE}"]')).to_be_visible()
            expect(tab.page.get_by_text("Live", exact=True)).to_be_visible()
            write(other, PIECE)
            expect(tab.page.locator(f'[data-seq="{2 * PIECE}"]')).to_be_visible()
            own.process.send_signal(signal.SIGKILL)
            own.process.wait()
            write(other, 2 * PIECE)
            with running(tmp_path / "a", *store, port=int(own.url.rsplit(":", 1)[1])):
                write(other, 3 * PIECE)
                seen(tab, 4 * PIECE)
                tab.check_calm()
