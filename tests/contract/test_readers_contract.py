"""Readers do nothing for those who have gone, keep short reads clear of long ones, and give everybody a share.

Long reads are held by an event that the test sets, or by a statement that would take minutes; nothing here is timed.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import pytest
from tests.support.eventually import eventually
from tests.support.material import numbered

from holdfast.core import NewEvent
from holdfast.core.errors import Busy, Closing, ReadTimeout
from holdfast.store import Store, StoreTuning, open_store
from holdfast.store.engine import Tx
from holdfast.store.lanes.readers import THREADS
from holdfast.store.lanes.shares import ReadLength, reading_for

pytestmark = pytest.mark.own_store

PATIENCE = 30.0
LONG_THREADS = THREADS.count(ReadLength.LONG)
ENDLESS = {
    "sqlite": "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n WHERE x = ?1",
    "postgresql": "SELECT pg_sleep(600) WHERE ?1 <> ''",
}
"""A statement that does not end by itself."""


@pytest.fixture
async def patient(store_url: str) -> AsyncIterator[Store]:
    """A store that ends no read because of its time."""
    async with await open_store(store_url, tuning=StoreTuning(read_seconds=3600)) as opened:
        yield opened


def read(store: Store, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Awaitable[Any]:
    return store.sessions.workers.read(run, length)


def waiting(store: Store) -> int:
    return store._machinery.readers.waiting


class Held:
    """A read that runs until it is let go; how many of it have begun."""

    def __init__(self) -> None:
        self.begun = 0
        self.let_go = threading.Event()

    def __call__(self, tx: Tx) -> None:
        self.begun += 1
        assert self.let_go.wait(PATIENCE)


@contextmanager
def held() -> Iterator[Held]:
    made = Held()
    try:
        yield made
    finally:
        made.let_go.set()


async def as_caller(caller: str, store: Store, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
    with reading_for(caller):
        return await read(store, run, length)


@asynccontextmanager
async def every_long_thread_held(store: Store) -> AsyncIterator[Held]:
    """Nobody's reads, of as many tenants as it takes, on all the threads that long reads may have."""
    with held() as holding:
        tasks = [asyncio.ensure_future(read(store.for_tenant(f"holder{n}"), holding)) for n in range(LONG_THREADS)]
        await eventually(lambda: holding.begun == LONG_THREADS)
        yield holding
    await asyncio.gather(*tasks)


async def cancelled(*tasks: "asyncio.Future[Any]") -> None:
    for task in tasks:
        task.cancel()
    assert all(isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*tasks, return_exceptions=True))


async def test_what_was_queued_for_those_who_have_gone_is_never_run(store: Store) -> None:
    ran: list[int] = []

    def note(number: int, tx: Tx) -> None:
        ran.append(number)

    async with every_long_thread_held(store):
        tasks = [asyncio.ensure_future(read(store, partial(note, n))) for n in range(60)]
        await eventually(lambda: waiting(store) == 60)
        await cancelled(*tasks[1:])
        assert waiting(store) == 1
    await tasks[0]
    assert ran == [0]


async def test_a_read_whose_caller_has_gone_is_ended_and_the_next_one_is_not(patient: Store) -> None:
    store = patient
    endless = ENDLESS[store.engine.name]
    ended: list[BaseException] = []

    def run(tx: Tx) -> None:
        begun.set()
        try:
            tx.one(endless, "x")
        except BaseException as error:
            ended.append(error)
            raise

    for number in range(12):
        begun = threading.Event()
        task = asyncio.ensure_future(read(store, run))
        await eventually(begun.is_set)
        await cancelled(task)
        found = [asyncio.ensure_future(read(store, lambda tx: tx.one("SELECT ?1 + 1", 1))) for _ in range(10)]
        assert await asyncio.gather(*found) == [(2,)] * 10
        while len(ended) <= number:
            await asyncio.sleep(0.001)


async def test_a_read_of_many_statements_is_ended_between_them_once_its_caller_has_gone(patient: Store) -> None:
    statements = 0
    ended = threading.Event()

    def run(tx: Tx) -> None:
        nonlocal statements
        try:
            while True:
                tx.one("SELECT 1")
                statements += 1
        finally:
            ended.set()

    task = asyncio.ensure_future(read(patient, run))
    await eventually(lambda: statements > 0)
    await cancelled(task)
    await eventually(ended.is_set)


async def test_short_reads_are_answered_while_long_ones_have_all_their_threads(store: Store) -> None:
    await store.append("s", numbered(0))
    _, text = await store.tokens.create("t", ["read"])
    async with every_long_thread_held(store):
        queued = [asyncio.ensure_future(read(store, lambda tx: None)) for _ in range(20)]
        async with asyncio.timeout(PATIENCE):
            assert await store.tokens.find(text) is not None
            assert await store.tokens.any()
            assert (await store.resume("s")).session.head_seq == 1
            assert (await store.sessions.get("s")).head_seq == 1
            assert (await store.state.get("s")).version == 0
            assert (await store.feed.now()).startswith(store.store_id)
            await store.append("s", numbered(1))
        assert not any(task.done() for task in queued)
    await asyncio.gather(*queued)


async def test_a_look_does_not_wait_for_pages_either(store: Store) -> None:
    with held() as holding:
        number = sum(most >= ReadLength.PAGE for most in THREADS)
        pages = [
            asyncio.ensure_future(read(store.for_tenant(f"t{n}"), holding, ReadLength.PAGE)) for n in range(number)
        ]
        await eventually(lambda: holding.begun == number)
        async with asyncio.timeout(PATIENCE):
            assert not await store.tokens.any()
    await asyncio.gather(*pages)


async def test_a_live_feed_goes_on_beside_long_reads(store: Store) -> None:
    async with every_long_thread_held(store):
        feed = store.feed.everything()
        following = asyncio.ensure_future(anext(feed))
        await eventually(lambda: bool(store._machinery.hubs.here()._ready.is_set()))
        async with asyncio.timeout(PATIENCE):
            while not following.done():
                await store.append("s", numbered(0))
                await asyncio.sleep(0.001)
        assert following.result().session_id == "s"
        await feed.aclose()


async def test_neither_a_tenant_nor_a_caller_has_all_the_threads(store: Store) -> None:
    mine, other = store.for_tenant("mine"), store.for_tenant("other")
    with held() as holding:
        tasks = [asyncio.ensure_future(as_caller("greedy", mine, holding)) for _ in range(20)]
        await eventually(lambda: holding.begun == 1)
        async with asyncio.timeout(PATIENCE):
            await as_caller("modest", mine, lambda tx: None)
        for caller in ("second", "third"):
            tasks += [asyncio.ensure_future(as_caller(caller, mine, holding)) for _ in range(20)]
        await eventually(lambda: holding.begun == 2)
        async with asyncio.timeout(PATIENCE):
            await as_caller("modest", other, lambda tx: None)
            await read(other, lambda tx: None)
        assert holding.begun == 2
    await asyncio.gather(*tasks)


@pytest.mark.tuned(most_reads_of_a_caller=4, most_reads_of_a_tenant=6)
async def test_whoever_has_too_many_reads_is_told_so_and_others_are_not(store: Store) -> None:
    mine = store.for_tenant("mine")
    async with every_long_thread_held(store):
        tasks = [asyncio.ensure_future(as_caller("greedy", mine, lambda tx: None)) for _ in range(4)]
        await eventually(lambda: waiting(store) == 4)
        with pytest.raises(Busy) as refusal:
            await as_caller("greedy", mine, lambda tx: None)
        assert refusal.value.details["retry_after"] == 1
        tasks += [asyncio.ensure_future(as_caller("second", mine, lambda tx: None)) for _ in range(2)]
        await eventually(lambda: waiting(store) == 6)
        with pytest.raises(Busy):
            await as_caller("third", mine, lambda tx: None)
        tasks.append(asyncio.ensure_future(as_caller("greedy", store.for_tenant("other"), lambda tx: None)))
        await eventually(lambda: waiting(store) == 7)
        await cancelled(tasks[0])
        tasks[0] = asyncio.ensure_future(as_caller("second", mine, lambda tx: None))
    await asyncio.gather(*tasks)
    await as_caller("greedy", mine, lambda tx: None)


async def test_a_read_of_many_statements_lasts_no_longer_than_one_may(store_url: str) -> None:
    def run(tx: Tx) -> None:
        while True:
            tx.one("SELECT 1")

    async with await open_store(store_url, tuning=StoreTuning(read_seconds=0.05)) as store:
        with pytest.raises(ReadTimeout):
            await asyncio.wait_for(read(store, run), PATIENCE)
        assert await read(store, lambda tx: tx.one("SELECT 1 + 1")) == (2,)


async def test_a_store_that_closes_finishes_what_is_queued(store_url: str) -> None:
    store = await open_store(store_url)
    with held() as holding:
        tasks = [asyncio.ensure_future(read(store, holding)) for _ in range(10)]
        await eventually(lambda: holding.begun > 0)
        closing = asyncio.ensure_future(store.close())
    await asyncio.gather(closing, *tasks)
    assert holding.begun == 10
    with pytest.raises(Closing):
        await read(store, lambda tx: None)


@pytest.mark.tuned(read_bytes=1_000)
async def test_one_read_of_a_log_takes_only_so_many_bytes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await store.append("s", [NewEvent("t", "x" * 398) for _ in range(10)])
    taken: list[int] = []
    stretch = store.stretch

    async def weighed(*args: Any, **options: Any) -> Any:
        found = await stretch(*args, **options)
        taken.append(sum(len(event.payload) for event in found.events))
        return found

    monkeypatch.setattr(store, "stretch", weighed)
    assert [event.seq for event in await store.read("s")] == list(range(1, 11))
    assert [event.seq for event in await store.newest("s", limit=7)] == list(range(4, 11))
    assert [event.seq for event in await store.read("s", limit=3, types=("t",))] == [1, 2, 3]
    assert [event.seq for event in await store.newest("s", limit=3, types=("t",))] == [8, 9, 10]
    assert taken[:9] == [800] * 8 + [400]
