"""A store on PostgreSQL connects when it first needs to; what fails then is told as when a connection is lost."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.support.eventually import eventually
from tests.support.material import numbered, values
from tests.support.opening import store_with
from tests.support.postgres import Server

from holdfast.core.errors import SchemaNewer, StoreUnavailable
from holdfast.store import Store, open_store
from holdfast.store.engine import Tx
from holdfast.store.lanes.readers import THREADS
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.migrations import newest

LISTENING = 1
"""What a store has from the beginning: the connection on which it hears of others."""
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'holdfast'"
ALLOW = "ALTER DATABASE {} ALLOW_CONNECTIONS {}"


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    """A store without chores, whose lanes have nothing to do until somebody writes."""
    async with store_with(postgres_url, ()) as opened:
        yield opened


@pytest.fixture
def name(postgres_url: str) -> str:
    """The database's."""
    return str(conninfo_to_dict(postgres_url)["dbname"])


@pytest.fixture
def watcher(postgres: Server) -> Iterator[psycopg.Connection]:
    """A connection to the server that is none of the store's."""
    with psycopg.connect(postgres.uri, autocommit=True, cursor_factory=psycopg.RawCursor) as connection:
        yield connection


@contextmanager
def closed_to_new_connections(watcher: psycopg.Connection, name: str) -> Iterator[None]:
    watcher.execute(ALLOW.format(name, "false").encode())
    try:
        yield
    finally:
        watcher.execute(ALLOW.format(name, "true").encode())


def connections(watcher: psycopg.Connection, name: str) -> int:
    row = watcher.execute(CONNECTIONS, (name,)).fetchone()
    assert row is not None
    return int(row[0])


def read_one(tx: Tx) -> object:
    return tx.one("SELECT 1 WHERE ?1 = ''", "")


async def test_reads_of_a_length_that_come_one_after_another_share_one_connection(
    store: Store, watcher: psycopg.Connection, name: str
) -> None:
    await eventually(lambda: connections(watcher, name) == LISTENING)  # that of the opening has ended
    for number, length in enumerate(ReadLength, start=1):
        for _ in range(4):
            assert await store.sessions.workers.read(read_one, length) == (1,)
        assert connections(watcher, name) == LISTENING + number


async def test_a_burst_is_read_by_all_threads_at_once(store: Store, watcher: psycopg.Connection, name: str) -> None:
    together = threading.Barrier(len(THREADS))

    def read(tx: Tx) -> object:
        together.wait(30)
        return read_one(tx)

    tenants = [store.for_tenant(f"tenant{number}") for number in range(len(THREADS))]
    burst = [tenant.sessions.workers.read(read, ReadLength.LOOK) for tenant in tenants]
    assert await asyncio.gather(*burst) == [(1,)] * len(THREADS)
    await eventually(lambda: connections(watcher, name) == LISTENING + len(THREADS))


async def test_a_read_that_cannot_connect_says_so_and_the_next_one_can(
    store: Store, watcher: psycopg.Connection, name: str
) -> None:
    with closed_to_new_connections(watcher, name):
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await store.read("s")
        assert store.failure is None
    assert await store.sessions.workers.read(read_one) == (1,)


async def test_a_write_that_cannot_connect_waits_and_is_written_once(
    store: Store, watcher: psycopg.Connection, name: str
) -> None:
    lane = store._machinery.lanes[0]
    with closed_to_new_connections(watcher, name):
        write = asyncio.ensure_future(lane.submit(lambda tx: tx.one("SELECT 1 WHERE ?1 = ''", ""), ()))
        await eventually(lambda: lane.waiting == 1)
        await asyncio.sleep(0.1)  # the first tries are in vain
        assert not write.done()
    assert await write == (1,)
    await store.append("s", numbered(1))
    assert await values(store, "s") == [{"n": 1}]


async def test_a_lane_that_connects_after_the_schema_has_changed_writes_nothing(
    store: Store, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE schema_meta SET value = %s WHERE key = 'version'", (str(newest("postgres") + 1),))
    with pytest.raises(SchemaNewer):
        await store.append("s", numbered(1))


async def test_a_store_that_cannot_be_reached_is_not_opened(
    postgres_url: str, watcher: psycopg.Connection, name: str
) -> None:
    with closed_to_new_connections(watcher, name), pytest.raises(StoreUnavailable, match="cannot be reached"):
        await open_store(postgres_url)
    with closed_to_new_connections(watcher, name), pytest.raises(StoreUnavailable, match="cannot be reached"):
        await open_store(postgres_url, read_only=True)
