"""A database host that vanishes without a word: every wait ends, and what can go on goes on over another host."""

import asyncio
import signal
import socket
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.gateway.process import PATIENCE, running
from tests.support.silence import SilentProxy, silent_proxy

from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.store import NewEvent, Store, StoreTuning, open_store
from holdfast.store.engine import Tx
from holdfast.store.postgres.database import DEFAULTS, PostgresDatabase, addresses_of
from holdfast.store.postgres.watch import Watch, WatchedConnection

QUICK = StoreTuning(quiet_seconds=0.3, probe_seconds=0.5)
"""Asks a silent server sooner."""


@pytest.fixture
async def proxy(postgres_url: str) -> AsyncIterator[SilentProxy]:
    async with silent_proxy(postgres_url) as proxy:
        yield proxy


@pytest.fixture
async def second(postgres_url: str) -> AsyncIterator[SilentProxy]:
    async with silent_proxy(postgres_url) as proxy:
        yield proxy


def both(first: SilentProxy, second: SilentProxy) -> str:
    """One URL with two hosts."""
    return f"postgresql://postgres@127.0.0.1:{first.port},127.0.0.1:{second.port}/{first.database}"


@pytest.mark.long
async def test_writes_reads_and_figures_go_on_over_the_other_host(proxy: SilentProxy, second: SilentProxy) -> None:
    async with asyncio.timeout(PATIENCE), await open_store(both(proxy, second), tuning=QUICK) as store:
        await store.append("s", [NewEvent("n", {"n": 0})])
        await asyncio.to_thread(store.engine.figures)
        assert second.accepted == 0
        proxy.speaks.clear()
        writes = [store.append("s", [NewEvent("n", {"n": n}, idempotency_key=f"k{n}")]) for n in range(1, 9)]
        others = [store.append(f"s{n}", [NewEvent("n", {})]) for n in range(8)]
        await asyncio.gather(*writes, *others, store.sessions.list(), asyncio.to_thread(store.engine.figures))
        assert [event.seq for event in await store.read("s")] == list(range(1, 10))
        assert second.accepted > 0
        proxy.speaks.set()


@pytest.mark.long
async def test_with_no_other_host_a_write_is_told_and_goes_on_when_it_is_back(proxy: SilentProxy) -> None:
    async with asyncio.timeout(2 * PATIENCE), await open_store(proxy.url, tuning=QUICK) as store:
        await store.append("s", [NewEvent("n", {})])
        proxy.speaks.clear()
        with pytest.raises(HoldfastError, match="database") as told:
            await store.read("s")
        assert told.value.code == "store_unavailable"
        proxy.speaks.set()
        await store.append("s", [NewEvent("n", {})])
        assert len(await store.read("s")) == 2


async def test_a_statement_that_takes_long_is_not_cut(proxy: SilentProxy) -> None:
    def slow(tx: Tx) -> object:
        before = tx.one("SELECT pg_backend_pid()")
        tx.one("SELECT 1 FROM pg_sleep(1.5)")
        return before == tx.one("SELECT pg_backend_pid()")

    async with asyncio.timeout(PATIENCE), await open_store(proxy.url, tuning=QUICK) as store:
        before = proxy.accepted
        assert await store.sessions.workers.write(slow, ("s",))
        assert proxy.accepted > before, "nobody asked the server: the test proves nothing"


async def test_even_a_server_that_answers_has_a_limit(proxy: SilentProxy) -> None:
    """As one whose commit waits for a standby that has gone."""
    database = PostgresDatabase(proxy.url, tuning=QUICK)
    connection = await asyncio.to_thread(database.connect)
    connection.limit = 1.0
    with pytest.raises(psycopg.OperationalError, match="did not answer within 1 s"):
        await asyncio.to_thread(connection.execute, "SELECT pg_sleep(600)")
    assert connection.closed
    connection.close()


async def test_the_figures_use_an_open_connection(proxy: SilentProxy) -> None:
    async with await open_store(proxy.url) as store:
        await asyncio.to_thread(store.engine.figures)
        before = proxy.accepted
        for _ in range(5):
            assert (await asyncio.to_thread(store.engine.figures))["sizeBytes"] > 0
        assert proxy.accepted == before


async def test_the_kernel_notices_too_unless_the_url_says_otherwise(proxy: SilentProxy) -> None:
    connection = await asyncio.to_thread(PostgresDatabase(proxy.url).connect)
    given = connection.info.get_parameters()
    assert {name: given[name] for name in DEFAULTS} == {name: str(value) for name, value in DEFAULTS.items()}
    with socket.socket(fileno=connection.fileno()) as same:
        assert same.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert same.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == DEFAULTS["keepalives_idle"]
        assert same.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == DEFAULTS["tcp_user_timeout"]
        same.detach()
    connection.close()
    own = f"{proxy.url}?connect_timeout=77&keepalives=0&tcp_user_timeout=1234"
    connection = await asyncio.to_thread(PostgresDatabase(own).connect)
    given = connection.info.get_parameters()
    assert [given[name] for name in ("connect_timeout", "keepalives", "tcp_user_timeout")] == ["77", "0", "1234"]
    connection.close()


async def test_a_host_that_is_dead_from_the_beginning_is_asked_once(proxy: SilentProxy, second: SilentProxy) -> None:
    proxy.speaks.clear()
    async with asyncio.timeout(PATIENCE), await open_store(both(proxy, second) + "?connect_timeout=2") as store:
        await store.append("s", [NewEvent("n", {})])
        for _ in range(3):
            await asyncio.to_thread(store.engine.figures)
        assert proxy.accepted == 1
    proxy.speaks.set()


async def test_letting_go_ends_every_wait(proxy: SilentProxy) -> None:
    store: Store = await open_store(proxy.url)
    await store.append("s", [NewEvent("n", {})])
    proxy.speaks.clear()
    waits = [asyncio.ensure_future(each) for each in (store.append("s", [NewEvent("n", {})]), store.read("s"))]
    await asyncio.sleep(0.2)
    store.let_go()
    async with asyncio.timeout(PATIENCE):
        await store.close()
    assert all(isinstance(each, HoldfastError) for each in await asyncio.gather(*waits, return_exceptions=True))
    proxy.speaks.set()


@pytest.mark.long
@pytest.mark.parametrize("busy", [False, True])
async def test_a_gateway_stops_although_the_database_says_nothing(
    proxy: SilentProxy, tmp_path: Path, *, busy: bool
) -> None:
    starting = running(tmp_path, "--store", proxy.url)
    gateway = await asyncio.to_thread(starting.__enter__)
    async with httpx2.AsyncClient(base_url=gateway.url, trust_env=False, verify=False, timeout=PATIENCE) as client:
        assert (await client.post("/api/actions/s", json={"type": "n"})).status_code == 201
        proxy.speaks.clear()
        waits = [asyncio.create_task(client.post("/api/actions/s", json={"type": "n"})) for _ in range(3 * busy)]
        await asyncio.sleep(0.5 * busy)
        gateway.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(gateway.process.wait, PATIENCE) == 0
        await asyncio.gather(*waits, return_exceptions=True)
    proxy.speaks.set()
    await asyncio.to_thread(starting.__exit__, None, None, None)


def test_hosts_and_ports_of_a_url() -> None:
    found = addresses_of("postgresql://u@a:1,b:2,[::1]:3/db?sslmode=disable")
    assert [(each["host"], each["port"], each["sslmode"]) for each in found] == [
        ("a", "1", "disable"),
        ("b", "2", "disable"),
        ("::1", "3", "disable"),
    ]
    found = addresses_of("postgresql://a,b/db?connect_timeout=3")
    assert [(each["host"], each.get("port"), each["connect_timeout"]) for each in found] == [
        ("a", None, "3"),
        ("b", None, "3"),
    ]
    for bad in ("postgresql://a:1,b:2/db?port=1,2,3", "postgresql://a/db?nonsense=1"):
        with pytest.raises(InvalidInput):
            addresses_of(bad)


async def test_a_server_that_lets_nobody_in_has_not_vanished(postgres_url: str) -> None:
    """It says so, and that is an answer: what it works on goes on."""
    database = PostgresDatabase(postgres_url, tuning=QUICK)
    name = conninfo_to_dict(postgres_url)["dbname"]
    elsewhere = make_conninfo(postgres_url, dbname="postgres")
    with (
        database.connect(read_only=True, patient=True) as connection,
        psycopg.connect(elsewhere, autocommit=True) as admin,
    ):
        admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())
        connection.execute("SET statement_timeout = 0")
        try:
            found = await asyncio.to_thread(lambda: connection.execute("SELECT 7 FROM pg_sleep(2)").fetchone())
        finally:
            admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'.encode())
    assert found == (7,)
    database.let_go()


async def test_a_connection_that_others_can_see_has_its_identity(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer timeline is found by one connection in the very moment in which another begins to count."""
    database = PostgresDatabase(postgres_url)
    with await asyncio.to_thread(database.connect) as before:
        identity = before.identity
    database._known.identity = identity._replace(timeline=identity.timeline - 1)
    others: list[WatchedConnection] = []

    def count(connection: WatchedConnection, number: int) -> None:
        connection.__dict__["number"] = number
        if not others:
            others.append(connection)
            with ThreadPoolExecutor(1) as thread:
                others.append(thread.submit(database.connect).result())

    counted = property(lambda connection: connection.__dict__.get("number", 0), count)
    monkeypatch.setattr(WatchedConnection, "backend", counted)
    first = await asyncio.to_thread(database.connect)
    assert others[0] is first and database._known.identity == identity
    for connection in others:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        connection.close()


class _LetGoLate(Watch):
    """Lets go in the moment after a connection was made for one who had just looked in vain."""

    def __init__(self, dialling: threading.Event, dialled: threading.Event) -> None:
        super().__init__(lambda _: None)
        self._caller = threading.current_thread()
        self._looks = 0
        self._dialling, self._dialled = dialling, dialled

    @property
    def ended(self) -> bool:
        if threading.current_thread() is not self._caller:
            self._dialled.set()
            return False
        self._looks += 1
        if self._looks < 2:
            return False
        self._dialling.set()
        assert self._dialled.wait(PATIENCE)
        return True

    @ended.setter
    def ended(self, ended: bool) -> None:
        pass


def test_a_connection_that_comes_when_nobody_waits_any_more_is_closed(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[WatchedConnection] = []
    dialling, dialled = threading.Event(), threading.Event()
    connect = WatchedConnection.connect

    def connect_late(**options: Any) -> WatchedConnection:
        assert dialling.wait(PATIENCE)
        made.append(connect(**options))
        return made[0]

    monkeypatch.setattr(WatchedConnection, "connect", connect_late)
    database = PostgresDatabase(postgres_url)
    database._watch = _LetGoLate(dialling, dialled)
    with pytest.raises(psycopg.OperationalError, match="closing"):
        database._dial(addresses_of(postgres_url)[0])
    assert made[0].closed
