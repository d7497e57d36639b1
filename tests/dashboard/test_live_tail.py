"""A page that follows a session while its gateway is killed, and comes back or is replaced: no line is lost, none is
doubled."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.a2a.harness import free_port
from tests.dashboard.browsing import Tab, needs_chromium, tab_of
from tests.dashboard.writing import append
from tests.gateway.process import Running, running
from tests.support import haproxy
from tests.support.eventually import wait_until
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


class Writer:
    """A program that goes on writing the log through one gateway."""

    def __init__(self, gateway: Running) -> None:
        self.last = 0
        self._gateway = gateway
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write)

    @contextmanager
    def going(self) -> Iterator[None]:
        """At work until the end of the block."""
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()

    def _write(self) -> None:
        with web_client(base_url=self._gateway.url) as client:
            while not self._ended.wait(0.02):
                self.last = append(client, "tail", {"type": "note", "details": {}})


def kill(gateway: Running) -> None:
    gateway.process.send_signal(signal.SIGKILL)
    gateway.process.wait()


def port_of(gateway: Running) -> int:
    return int(gateway.url.rsplit(":", 1)[1])


def goes_on(tab: Tab, dying: Running, living: Running) -> int:
    """One gateway is killed while the other takes events: the page shows those after the kill. The last of all."""
    writer = Writer(living)
    with writer.going():
        wait_until(lambda: writer.last)
        kill(dying)
        after = writer.last + PIECE
        wait_until(lambda: writer.last > after)
        wait_until(lambda: tab.seqs()[-1] > after, pause=0.05)
    return writer.last


@pytest.mark.skipif(
    haproxy.find() is None, reason="NOT RUN: pages behind a balancer need HAProxy (scripts/haproxy-here)"
)
def test_each_of_two_gateways_is_killed_behind_a_balancer(browser: Browser, tmp_path: Path, postgres_url: str) -> None:
    """Whichever the page was connected to, it goes on by the other."""
    program = haproxy.find()
    assert program is not None
    store = ("--store", postgres_url)
    with running(tmp_path / "a", *store) as first, running(tmp_path / "b", *store) as second:
        gateways = {"gateway-1": port_of(first), "gateway-2": port_of(second)}
        write(second, 0)
        with (
            haproxy.running(program, tmp_path, free_port(), gateways) as url,
            tab_of(browser, url) as tab,
        ):
            tab.go("sessions/tail")
            expect(tab.page.locator(f'[data-seq="{PIECE}"]')).to_be_visible()
            expect(tab.page.get_by_text("Live", exact=True)).to_be_visible()
            goes_on(tab, first, second)
            with running(tmp_path / "a", *store, port=port_of(first)) as again:
                last = goes_on(tab, second, again)
                seen(tab, last)
                expect(tab.page.get_by_text("Live", exact=True)).to_be_visible()
                tab.check_calm()
