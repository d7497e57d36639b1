"""A commit that the synchronous standby has not confirmed is not acknowledged, whatever ended the wait for it.

The server waits for a standby that does not exist; ending that wait leaves the transaction committed on the server
alone, where a failover would lose it.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest
from tests.support.material import numbered, values
from tests.support.opening import store_with
from tests.support.postgres import Server

from holdfast.core.errors import OutcomeUnknown
from holdfast.store import NewEvent

STANDBYS = "ALTER SYSTEM SET synchronous_standby_names = '{}'"
WAITING = """
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep' ORDER BY pid"""

Connection = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def admin(postgres: Server, postgres_url: str) -> Iterator[Connection]:
    """A connection that waits for no standby itself, and ends the waits of others when all is over."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = local")
        yield connection
        name_standby(connection, "")


def name_standby(admin: Connection, name: str) -> None:
    """Have the server wait for this standby at every commit; for none, if there is no name."""
    admin.execute(STANDBYS.format(name).encode())
    admin.execute("SELECT pg_reload_conf()")


async def waiting(admin: Connection) -> int:
    """The backend that waits for the standby, once there is one."""
    async with asyncio.timeout(20):
        while not (found := admin.execute(WAITING).fetchall()):
            await asyncio.sleep(0.01)
    pid = found[0][0]
    assert isinstance(pid, int)
    return pid


async def name_missing_standby(admin: Connection, url: str) -> None:
    """From here on every commit waits for ever: the server has heard of it once one of our own does."""
    name_standby(admin, "nobody")
    async with asyncio.timeout(20), await psycopg.AsyncConnection.connect(url, autocommit=True) as probe:
        found: list[tuple[object, ...]] = []
        while not found:
            commit = asyncio.ensure_future(probe.execute("SELECT pg_logical_emit_message(true, 'probe', '')"))
            while not commit.done() and not found:
                await asyncio.sleep(0.01)
                found = admin.execute(WAITING).fetchall()
            if found:
                admin.execute("SELECT pg_cancel_backend(%s)", found[0])
            await commit


def keyed(number: int) -> list[NewEvent]:
    return [NewEvent("number", {"n": number}, idempotency_key=f"k{number}")]


@pytest.mark.parametrize("several", [False, True])
async def test_a_commit_whose_wait_was_cancelled_is_not_acknowledged(
    postgres_url: str, admin: Connection, several: bool
) -> None:
    async with store_with(postgres_url, ()) as store:
        await store.append("s", numbered(0))
        await name_missing_standby(admin, postgres_url)
        numbers = [1, 2, 3] if several else [1]
        writes = [asyncio.ensure_future(store.append("s", keyed(n))) for n in numbers]
        while not all(write.done() for write in writes):
            admin.execute("SELECT pg_cancel_backend(%s)", (await waiting_or_done(admin, writes),))
            await asyncio.sleep(0.05)
        assert [type(write.exception()) for write in writes] == [OutcomeUnknown] * len(numbers)
        name_standby(admin, "")
        for number in numbers:
            assert (await store.append("s", keyed(number))).replayed
        assert await values(store, "s") == [{"n": n} for n in [0, *numbers]]
        assert store.failure is None


async def waiting_or_done(admin: Connection, writes: Sequence["asyncio.Future[Any]"]) -> int:
    """The backend that waits; 0, which is nobody's, once all writes have an answer."""
    while not all(write.done() for write in writes):
        found = admin.execute(WAITING).fetchone()
        if found is not None and isinstance(found[0], int):
            return found[0]
        await asyncio.sleep(0.01)
    return 0


async def test_a_commit_whose_backend_was_ended_while_it_waited_is_not_acknowledged_by_the_rerun(
    postgres_url: str, admin: Connection
) -> None:
    """The rerun finds its events, and waits for the standby as the first run did."""
    async with store_with(postgres_url, ()) as store:
        await store.append("s", numbered(0))
        await name_missing_standby(admin, postgres_url)
        write = asyncio.ensure_future(store.append("s", numbered(1)))
        first = await waiting(admin)
        admin.execute("SELECT pg_terminate_backend(%s)", (first,))
        async with asyncio.timeout(20):
            while (again := await waiting(admin)) == first:
                await asyncio.sleep(0.01)
        assert not write.done()
        admin.execute("SELECT pg_cancel_backend(%s)", (again,))
        with pytest.raises(OutcomeUnknown):
            await write
        assert await values(store, "s") == [{"n": 0}, {"n": 1}]


async def test_a_retry_is_acknowledged_only_when_the_standby_has_what_was_written_first(
    postgres_url: str, admin: Connection
) -> None:
    async with store_with(postgres_url, ()) as store:
        await store.append("s", keyed(1))
        await name_missing_standby(admin, postgres_url)
        retry = asyncio.ensure_future(store.append("s", keyed(1)))
        await waiting(admin)
        assert not retry.done()
        name_standby(admin, "")
        assert (await retry).replayed


async def test_a_notice_is_no_doubt_about_the_commit(postgres_url: str) -> None:
    notice = "DO $$ BEGIN RAISE NOTICE 'for your information'; END $$"
    async with store_with(postgres_url, ()) as store:
        await store.sessions.workers.write(lambda tx: tx.run(notice), ("x",))


async def test_a_change_of_no_row_waits_for_the_standby_too(postgres_url: str, admin: Connection) -> None:
    """It has no transaction id, and its group may hold the replay of what the standby has yet to confirm."""
    async with store_with(postgres_url, ()) as store:
        await name_missing_standby(admin, postgres_url)
        change = asyncio.ensure_future(store.outbox.settle("no task", "no place", 1))
        await waiting(admin)
        assert not change.done()
        name_standby(admin, "")
        await change
