"""A lane that nobody writes to does its chores, and a write never waits for more than one step of them."""

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.material import numbered, values
from tests.support.opening import store_with

from holdfast.core import HoldfastError, SystemClock, TimeOrderedIds
from holdfast.core.errors import NotFound
from holdfast.store import Store, StoreTuning
from holdfast.store.engine import RecordedEvent, Tx
from holdfast.store.lanes.chores import Chore
from holdfast.store.log.append import append
from holdfast.store.log.prepare import prepare_all

TIMEOUT = 20


async def until(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, TIMEOUT)


class Counting:
    """A chore that counts to `most` in the store, a step at a time."""

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self.most = most
        self.steps = 0
        self.done = threading.Event()

    def __call__(self, tx: Tx) -> bool:
        row = tx.one("SELECT value FROM schema_meta WHERE key = ?1", self.name)
        count = 0 if row is None else int(row[0])
        if count == self.most:
            self.done.set()
            return False
        self.steps += 1
        tx.run(
            "INSERT INTO schema_meta (key, value) VALUES (?1, ?2)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            self.name,
            str(count + 1),
        )
        return True


async def test_chores_are_done_right_after_the_start_and_committed(store_url: str) -> None:
    chore = Counting("a", 20)
    async with store_with(store_url, [chore], StoreTuning(idle_seconds=1000)):
        await until(chore.done)
    again = Counting("a", 20)
    async with store_with(store_url, [again], StoreTuning(idle_seconds=1000)):
        await until(again.done)
    assert (chore.steps, again.steps) == (20, 0)


async def test_chores_take_turns(store_url: str) -> None:
    turns: list[str] = []
    everlasting, short = Counting("a", 2**60), Counting("b", 5)

    def noting(chore: Counting) -> Chore:
        def step(tx: Tx) -> bool:
            turns.append(chore.name)
            return chore(tx)

        return step

    async with store_with(store_url, [noting(everlasting), noting(short)]):
        await until(short.done)
    assert turns[:12] == ["a", "b"] * 6


async def test_a_write_waits_for_one_step_at_most(store_url: str) -> None:
    """The chore never ends; each of its steps waits until the test lets it go on."""
    started, go_on = threading.Semaphore(0), threading.Semaphore(0)
    chore = Counting("a", 2**60)

    def held(tx: Tx) -> bool:
        started.release()
        assert go_on.acquire(timeout=TIMEOUT)
        return chore(tx)

    async with store_with(store_url, [held]) as store:
        try:
            assert await asyncio.to_thread(started.acquire, timeout=TIMEOUT)
            lane = store._machinery.lanes[0]
            first = asyncio.ensure_future(lane.submit(lambda tx: chore.steps, ()))
            while not lane.waiting:
                await asyncio.sleep(0)
            go_on.release()
            assert await first == 1, "the chore made another step before the write"
        finally:
            for _ in range(1000):
                go_on.release()


async def test_a_chore_that_is_always_interrupted_does_not_starve_the_next(sqlite_url: str) -> None:
    """A write comes during every step: the next look must go on with the chore whose turn it was."""
    loop = asyncio.get_running_loop()
    opened: list[Store] = []
    a, b = Counting("a", 2**60), Counting("b", 3)

    def interrupted(tx: Tx) -> bool:
        if not opened:
            return False
        asyncio.run_coroutine_threadsafe(opened[0].append("s", numbered(1)), loop)
        while not opened[0]._machinery.lanes[0].waiting:
            time.sleep(0)
        return a(tx)

    def starved(tx: Tx) -> bool:
        return bool(opened) and b(tx)

    async with store_with(sqlite_url, [interrupted, starved], StoreTuning(idle_seconds=0.01)) as store:
        opened.append(store)
        await store.append("s", numbered(0))
        try:
            await until(b.done)
        finally:
            opened.clear()


async def test_the_lane_looks_again_now_and_then(store_url: str) -> None:
    """What another process left to do is found though nobody writes here."""
    looks = threading.Semaphore(0)

    def look(tx: Tx) -> bool:
        looks.release()
        return False

    async with store_with(store_url, [look], StoreTuning(look_seconds=0.05)):
        for _ in range(4):
            assert await asyncio.to_thread(looks.acquire, timeout=TIMEOUT)


async def test_an_idle_store_writes_nothing(sqlite_url: str) -> None:
    """Twenty looks with nothing to do leave the file and its log as they were."""
    looks = threading.Semaphore(0)

    def look(tx: Tx) -> bool:
        looks.release()
        return True  # "more", though it changed nothing: not believed

    path = Path(sqlite_url.removeprefix("sqlite:///"))

    def facts() -> list[tuple[str, int, int]]:
        return [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in sorted(path.parent.iterdir())]

    async with store_with(sqlite_url, [look], StoreTuning(look_seconds=0.01)) as store:
        await store.append("s", numbered(1))
        commits = store._machinery.lanes[0].commits
        for _ in range(3):
            assert await asyncio.to_thread(looks.acquire, timeout=TIMEOUT)
        before = facts()
        for _ in range(20):
            assert await asyncio.to_thread(looks.acquire, timeout=TIMEOUT)
        assert facts() == before
        assert store._machinery.lanes[0].commits == commits


@pytest.mark.parametrize("kind", ["refusal", "database", "defect"])
async def test_a_chore_in_trouble_is_taken_back_logged_once_and_harms_nobody(
    store_url: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    tried = threading.Semaphore(0)
    beside = Counting("b", 3)

    def bad(tx: Tx) -> bool:
        tx.run("INSERT INTO schema_meta (key, value) VALUES (?1, ?2)", "bad", "1")
        tried.release()
        if kind == "refusal":
            raise NotFound("nothing here")
        if kind == "database":
            tx.run("INSERT INTO no_such_table (a) VALUES (?1)", 1)
        raise ZeroDivisionError("a defect")

    with caplog.at_level(logging.WARNING, "holdfast.store"):
        async with store_with(store_url, [bad, beside], StoreTuning(look_seconds=0.05)) as store:
            await until(beside.done)
            for _ in range(4):
                assert await asyncio.to_thread(tried.acquire, timeout=TIMEOUT)
            await store.append("s", numbered(1))
            left = await store.sessions.workers.read(lambda tx: tx.all("SELECT 1 FROM schema_meta WHERE key = 'bad'"))
            assert left == []
            assert store.failure is None
    assert len([record for record in caplog.records if "chore" in record.message]) == 1


async def test_what_a_chore_appends_is_followed(store_url: str) -> None:
    """The chore's event is published like a write's."""
    clock = SystemClock()
    prepared = prepare_all(numbered(2), clock, TimeOrderedIds(clock))
    wanted = threading.Event()

    def speak(tx: Tx) -> bool:
        if not wanted.is_set():
            return False
        wanted.clear()
        append(tx, "default", "s", prepared)
        return False

    async with store_with(store_url, [speak], StoreTuning(look_seconds=0.05)) as store:
        await store.append("s", numbered(1))
        rung: list[int] = []
        publish = store._machinery.hubs.published

        def noting(recorded: list[RecordedEvent], history: str) -> None:
            rung.extend(entry.seq for entry in recorded)
            publish(recorded, history)

        store._machinery.hubs.published = noting  # type: ignore[method-assign]
        wanted.set()
        event = await asyncio.wait_for(anext(aiter(store.feed.session("s", after=1))), TIMEOUT)
        assert event.value() == {"n": 2}
        assert 2 in rung
        assert await values(store, "s") == [{"n": 1}, {"n": 2}]


async def test_two_gateways_do_not_do_the_same_chore_at_once(postgres_url: str) -> None:
    inside, release = threading.Event(), threading.Event()
    refused = threading.Event()

    def first(tx: Tx) -> bool:
        if not inside.is_set() and tx.try_lock("chore"):
            inside.set()
            assert release.wait(TIMEOUT)
        return False

    def second(tx: Tx) -> bool:
        if not tx.try_lock("chore"):
            refused.set()
        return False

    async with store_with(postgres_url, [first]):
        await until(inside)
        async with store_with(postgres_url, [second]) as store:
            await until(refused)
            waiting = asyncio.ensure_future(store._machinery.write(lambda tx: tx.lock("chore"), ("x",)))
            await store.append("s", numbered(1))
            assert not waiting.done()
            release.set()
            await asyncio.wait_for(waiting, TIMEOUT)


async def test_a_lost_connection_in_a_chore_is_replaced(postgres_url: str) -> None:
    cut = threading.Event()
    chore = Counting("a", 5)

    def cut_once(tx: Tx) -> bool:
        if chore.steps == 2 and not cut.is_set():
            cut.set()
            tx.one("SELECT pg_terminate_backend(pg_backend_pid())")
        return chore(tx)

    async with store_with(postgres_url, [cut_once], StoreTuning(look_seconds=0.05)) as store:
        await until(chore.done)
        await store.append("s", numbered(1))
        assert store.failure is None
    assert cut.is_set()


async def test_groups_do_not_mix_writes_that_make_room_with_others(store_url: str) -> None:
    """Each group's kind is what its writer was told."""
    async with store_with(store_url, []) as store:
        lane = store._machinery.lanes[0]
        writer = lane._writer
        begin = writer.begin
        kinds: list[bool] = []

        def noting(locks: Sequence[str], *, cautious: bool, makes_room: bool) -> Tx:
            kinds.append(makes_room)
            return begin(locks, cautious=cautious, makes_room=makes_room)

        writer.begin = noting  # type: ignore[method-assign]
        ran: list[bool] = []

        def write(makes_room: bool) -> object:
            return lane.submit(lambda tx: ran.append(kinds[-1]), (), makes_room=makes_room)

        wanted = [n % 3 == 0 for n in range(30)]
        await asyncio.gather(*(write(makes_room) for makes_room in wanted))  # type: ignore[call-overload]
        assert ran == wanted


async def test_a_refused_group_is_refused_whole_and_the_lane_goes_on(store_url: str) -> None:
    async with store_with(store_url, []) as store:
        lane = store._machinery.lanes[0]
        begin = lane._writer.begin

        def refuse(locks: Sequence[str], *, cautious: bool, makes_room: bool) -> Tx:
            raise NotFound("no room", hint="make some", where="here")

        lane._writer.begin = refuse  # type: ignore[method-assign]
        answers = await asyncio.gather(*(lane.submit(lambda tx: 1, ()) for _ in range(5)), return_exceptions=True)
        assert {type(answer) for answer in answers} == {NotFound}
        assert len({id(answer) for answer in answers}) == 5
        for answer in answers:
            assert isinstance(answer, HoldfastError)
            assert (answer.hint, answer.details) == ("make some", {"where": "here"})
        lane._writer.begin = begin  # type: ignore[method-assign]
        assert await lane.submit(lambda tx: 2, ()) == 2


async def test_chores_come_to_their_end_beside_a_load_that_leaves_no_pause(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chore = Counting("busy", most=3)
    begin = threading.Event()

    def once_it_is_busy(tx: Tx) -> bool:
        return begin.is_set() and chore(tx)

    async with store_with(store_url, [once_it_is_busy], StoreTuning(busy_chore_seconds=0.01)) as store:
        lane = store._machinery.lanes[0]
        waits = {"idle": 0}
        real = lane._do_chores

        def noted() -> None:
            waits["idle"] += begin.is_set()
            real()

        monkeypatch.setattr(lane, "_do_chores", noted)

        async def write(number: int) -> None:
            while not chore.done.is_set():
                await store.append(f"s{number}", numbered(1))

        writers = [asyncio.create_task(write(number)) for number in range(16)]
        begin.set()
        await asyncio.wait_for(asyncio.gather(*writers), TIMEOUT)
        assert chore.steps == 3
        if store.engine.name == "sqlite":  # one lane: it was never idle, and the steps were made all the same
            assert waits["idle"] == 0
