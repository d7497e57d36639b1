"""The front door: reads that agree with each other, batches under a key, and whether a store answers."""

import asyncio
import subprocess
import sys

import pytest

from holdfast.core.errors import IdempotencyConflict, InvalidInput, NotFound, StoreUnavailable
from holdfast.core.ids import MAX_NAME_LENGTH
from holdfast.store import DAY_MS, NewEvent, ReadLength, Store, StoreSnapshot, open_store

LINES = [NewEvent("x", {"n": 1}), NewEvent("x", {"n": 1})]


async def test_all_that_a_snapshot_shows_is_of_one_moment(store: Store) -> None:
    await store.append("s", [NewEvent("x", {})])
    await store.goals.add("s", "arrive")
    loop = asyncio.get_running_loop()

    def look(snapshot: StoreSnapshot) -> list[object]:
        session = snapshot.session("s")
        before = [session.description(), session.state(), session.goals(), session.agents(), snapshot.totals()]
        more = [store.append("s", [NewEvent("y", {})]), store.goals.add("s", "leave"), store.state.patch("s", {"a": 1})]
        for change in more:
            asyncio.run_coroutine_threadsafe(change, loop).result(30)
        assert session.head_seq == 2
        assert [event.seq for event in session.newest(3, 10).events] == [1, 2]
        after = [session.description(), session.state(), session.goals(), session.agents(), snapshot.totals()]
        assert after == before
        return after

    described, state, goals, agents, totals = await store.snapshot(look)
    assert (described.head_seq, state.version, agents, totals.events) == (2, 0, ([], 0), 2)  # type: ignore[attr-defined]
    assert [goal.description for goal in goals[0]] == ["arrive"]  # type: ignore[index]
    assert (await store.snapshot(StoreSnapshot.totals)).events == 5


async def test_a_snapshot_is_of_one_tenant(store: Store) -> None:
    await store.append("s", [NewEvent("x", {})])
    await store.usage.record("s", "m", input_tokens=3, output_tokens=4)
    other = store.for_tenant(f"{store.tenant}-other")
    assert await other.snapshot(lambda snapshot: snapshot.find_session("s"), ReadLength.PAGE) is None
    with pytest.raises(NotFound):
        await other.snapshot(lambda snapshot: snapshot.session("s"))

    def seen(snapshot: StoreSnapshot) -> tuple[int, int, int, int]:
        began = snapshot.begun_by_day(0)
        return (
            snapshot.totals().sessions,
            len(snapshot.newest_sessions().sessions),
            sum(began.values()),
            sum(row.usage.input_tokens for row in snapshot.usage_by_day()),
        )

    assert (await store.snapshot(seen), await other.snapshot(seen)) == ((1, 1, 1, 3), (0, 0, 0, 0))
    today = (await store.read("s"))[0].created_at // DAY_MS
    assert await store.snapshot(lambda snapshot: snapshot.begun_by_day(today + 1)) == {}


@pytest.mark.parametrize("key", ["batch", "k" * MAX_NAME_LENGTH])
async def test_a_key_names_a_whole_batch(store: Store, key: str) -> None:
    first = await store.append("s", LINES, batch_key=key)
    again = await store.append("s", LINES, batch_key=key)
    assert (first.seqs, again.seqs, again.replayed) == ((1, 2), (1, 2), 2)
    for other in (LINES[:1], [*LINES, *LINES]):
        with pytest.raises(IdempotencyConflict):
            await store.append("s", other, batch_key=key)
    keys = [event.idempotency_key for event in await store.read("s")]
    assert len({*keys, None}) == 3


async def test_events_of_a_batch_keep_the_keys_they_have(store: Store) -> None:
    own = NewEvent("x", {}, idempotency_key="own")
    await store.append("s", [own, NewEvent("x", {})], batch_key="batch")
    assert [event.idempotency_key for event in await store.read("s")] == ["own", "batch#1"]


@pytest.mark.parametrize("key", ["", "holdfast.x", "k" * (MAX_NAME_LENGTH + 1)])
async def test_a_batch_has_a_key_that_a_caller_may_use(store: Store, key: str) -> None:
    with pytest.raises(InvalidInput):
        await store.append("s", LINES, batch_key=key)


async def test_whether_it_answers_is_tried_for_real(store: Store, store_url: str) -> None:
    await store.check_readable()
    before = store.commits
    await store.check_writable()
    assert store.commits > before
    assert (sum(lane.writes for lane in store.lane_counts) > 0, len(store.waiting_writes)) == (
        True,
        len(store.lane_counts),
    )
    async with await open_store(store_url, read_only=True) as reading:
        await reading.check_readable()
        assert (reading.lane_counts, reading.commits) == ([], 0)
        with pytest.raises(StoreUnavailable):
            await reading.check_writable()


def test_the_front_door_loads_no_driver() -> None:
    doors = (
        "holdfast.store, holdfast.store.backup, holdfast.store.operators, holdfast.store.portable, holdfast.store.tasks"
    )
    code = f"import sys, {doors}; sys.exit(str([name for name in ('apsw', 'psycopg') if name in sys.modules] or ''))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
