"""A write that may have been committed is never told as refused, and one that ends its connection each time ends too.

The connections are real: a proxy loses the server's answer to COMMIT, or the server ends its own backend.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import psycopg
import pytest
from tests.support.commit_proxy import CommitProxy, Moment, proxy_before
from tests.support.material import numbered, values
from tests.support.opening import store_with

from holdfast.core.errors import EngineRefused, OutcomeUnknown, SessionGone, StaleWriter, StoreUnavailable
from holdfast.store import Store, StoreTuning, open_store
from holdfast.store.engine import Tx
from holdfast.store.part import session_lock
from holdfast.store.postgres.connection import lock_number

HOLD = "SELECT pg_advisory_lock($1)"
IMPATIENT = StoreTuning(lock_seconds=0.3)
"""Waits for a lock for a moment only."""


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[CommitProxy]:
    with proxy_before(postgres_url) as running:
        yield running


@pytest.fixture
async def store(proxy: CommitProxy) -> AsyncIterator[Store]:
    """A store behind the proxy, that waits for a lock for a moment only, and does no chores."""
    async with store_with(proxy.url, (), IMPATIENT) as opened:
        yield opened


@pytest.fixture
async def other(postgres_url: str, store: Store) -> AsyncIterator[Store]:
    """Another gateway's store on the same database, not behind the proxy."""
    async with await open_store(postgres_url, tuning=IMPATIENT) as opened:
        yield opened


def at_once(work: Callable[[], Awaitable[Any]]) -> Callable[[], None]:
    """Do this on the test's loop, and come back when it is done."""
    loop = asyncio.get_running_loop()

    async def run() -> None:
        await work()

    return lambda: asyncio.run_coroutine_threadsafe(run(), loop).result(20)


async def together(store: Store, session_id: str, *writes: Callable[[], Awaitable[Any]]) -> list[Any]:
    """The outcomes of writes that come to the lane of this session while it is at work, so that they are one group."""
    begun, go_on = threading.Event(), threading.Event()

    def hold(_tx: Tx) -> None:
        begun.set()
        go_on.wait(20)

    name = session_lock(store.tenant, session_id)
    first = asyncio.ensure_future(store.sessions.workers.write(hold, (name,)))
    await asyncio.to_thread(begun.wait, 20)
    lane = next(lane for lane in store._machinery.lanes if lane.waiting)
    tasks = [asyncio.ensure_future(write()) for write in writes]
    while lane.waiting < 1 + len(writes):
        await asyncio.sleep(0.001)
    go_on.set()
    await first
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_rerun_that_finds_its_session_locked_is_not_told_as_busy(
    store: Store, proxy: CommitProxy, postgres_url: str
) -> None:
    await store.append("s", numbered(1))
    with psycopg.connect(postgres_url, autocommit=True, cursor_factory=psycopg.RawCursor) as holder:
        number = lock_number(session_lock("default", "s"))
        # Another client waits for the session's lock already: it has it before the write can run again.
        taking = threading.Thread(target=lambda: holder.execute(HOLD, (number,)))

        def take() -> None:
            taking.start()
            taking.join(10)

        proxy.lose(Moment.AFTER, take)
        with pytest.raises(OutcomeUnknown):
            await store.append("s", numbered(2))
    assert proxy.lost == 1
    assert await values(store, "s") == [{"n": 1}, {"n": 2}]


async def test_a_rerun_that_finds_its_session_deleted_is_not_told_as_gone(
    store: Store, other: Store, proxy: CommitProxy
) -> None:
    await store.append("s", numbered(1))
    proxy.lose(Moment.AFTER, at_once(lambda: other.deletion.delete("s")))
    with pytest.raises(OutcomeUnknown):
        await store.append("s", numbered(2))
    assert [event.value() async for event in other.archives.events("s")] == [{"n": 1}, {"n": 2}]
    with pytest.raises(SessionGone):
        await store.append("s", numbered(3))


async def test_a_rerun_that_the_database_refuses_is_not_told_as_refused(store: Store, proxy: CommitProxy) -> None:
    """Whatever the error of the second run is."""
    runs: list[bool] = []

    def write(tx: Tx) -> None:
        runs.append(tx.rerun)
        if len(runs) > 1:
            tx.one("SELECT 1 / 0")
        tx.run("INSERT INTO schema_meta (key, value) VALUES ('a', 'b')")

    proxy.lose(Moment.AFTER)
    with pytest.raises(OutcomeUnknown):
        await store.sessions.workers.write(write, ("x",))
    assert runs == [False, True]


async def test_a_rerun_that_knows_that_the_first_run_was_lost_is_told_why_it_is_refused(
    store: Store, other: Store, proxy: CommitProxy
) -> None:
    await store.append("s", numbered(1))
    proxy.lose(Moment.BEFORE, at_once(lambda: other.append("s", numbered(7))))
    with pytest.raises(StaleWriter):
        await store.append("s", numbered(2), expected_seq=1)
    assert await values(store, "s") == [{"n": 1}, {"n": 7}]


async def test_what_was_refused_in_the_lost_group_is_refused_again(store: Store, proxy: CommitProxy) -> None:
    """Only what the lost transaction held can be in doubt."""
    await store.append("s", numbered(1))
    proxy.lose(Moment.AFTER)
    stale, good = await together(
        store,
        "s",
        lambda: store.append("s", numbered(5), expected_seq=9),
        lambda: store.append("s", numbered(2)),
    )
    assert isinstance(stale, StaleWriter)
    assert good.first_seq == 2
    assert proxy.lost == 1
    assert await values(store, "s") == [{"n": 1}, {"n": 2}]


async def test_a_write_that_ends_its_connection_each_time_is_given_up_and_others_do_not_wait_for_it(
    store: Store,
) -> None:
    runs: list[int] = []
    ended: list[Any] = []

    def fatal(tx: Tx) -> None:
        runs.append(1)
        tx.one("SELECT pg_terminate_backend(pg_backend_pid())")

    async def poison() -> None:
        try:
            await store.sessions.workers.write(fatal, (session_lock("default", "s"),))
        finally:
            ended.append("poison")

    async def bystander(number: int) -> None:
        await store.append("s", numbered(number))
        ended.append(number)

    numbers = [1, 2, 3, 4]
    outcomes = await together(
        store, "s", lambda: bystander(1), poison, *(lambda n=n: bystander(n) for n in numbers[1:])
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), StoreUnavailable, *[type(None)] * 3]
    assert ended[-1] == "poison"
    assert len(runs) <= 5
    assert sorted(value["n"] for value in await values(store, "s")) == numbers


async def test_a_write_whose_commit_is_lost_each_time_has_an_unknown_outcome(store: Store, proxy: CommitProxy) -> None:
    for _ in range(20):
        proxy.lose(Moment.BEFORE)
    with pytest.raises(OutcomeUnknown):
        await store.append("s", numbered(1))
    assert 1 < proxy.lost <= 5
    proxy.losses.clear()
    await store.append("s", numbered(2))
    assert await values(store, "s") == [{"n": 2}]


async def test_writes_of_one_lane_go_on_beside_one_that_is_tried_again(store: Store) -> None:
    """What comes while a write is tried again does not wait until it is given up."""
    ended: list[str] = []
    tried = threading.Event()

    def fatal(tx: Tx) -> None:
        if ended:
            ended.append("tried after the others")
        tried.set()
        tx.one("SELECT pg_terminate_backend(pg_backend_pid())")

    name = session_lock("default", "s")
    poison = asyncio.ensure_future(store.sessions.workers.write(fatal, (name,)))
    await asyncio.to_thread(tried.wait, 20)
    await asyncio.gather(*(store.append("s", numbered(n)) for n in range(5)))
    ended.append("others")
    with pytest.raises(StoreUnavailable):
        await poison
    assert len(await values(store, "s")) == 5


async def test_a_server_that_is_refused_when_it_comes_back_is_tried_again(store: Store, proxy: CommitProxy) -> None:
    """For a while after a failover the old address may be a server that we refuse."""
    await store.append("s", numbered(0))
    refused: list[int] = []
    for lane in store._machinery.lanes:
        writer: Any = lane._writer

        def connect(real: Callable[[], Any] = writer._connect) -> Any:
            if len(refused) < 2:
                refused.append(1)
                raise EngineRefused("the server is a read replica")
            return real()

        writer._connect = connect
    proxy.lose(Moment.AFTER)
    await store.append("s", numbered(1))
    assert len(refused) == 2
    assert await values(store, "s") == [{"n": 0}, {"n": 1}]
    assert store.failure is None
