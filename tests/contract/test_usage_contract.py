"""What usage does, on every engine."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from tests.support.changes import assert_verified
from tests.support.clocks import DAY, SetClock
from tests.support.interrupted import Twice
from tests.support.material import numbered

from holdfast.core import Usage
from holdfast.core.errors import IdempotencyConflict, InvalidInput, NotFound
from holdfast.store import Store, open_store

Call = Callable[[Store], Coroutine[Any, Any, Any]]


async def test_calls_are_counted_by_session_day_and_model(store_url: str) -> None:
    hands = SetClock(20_000 * DAY)
    async with await open_store(store_url, clock=hands) as store:
        await store.usage.record("s", "small", input_tokens=10, output_tokens=1)
        total = await store.usage.record(
            "s", "large", input_tokens=20, output_tokens=2, cached_tokens=5, cost_micros=70
        )
        assert total == Usage(2, 30, 3, 5, 70)
        hands.time += DAY
        await store.usage.record("s", "small", input_tokens=2**48 - 1, output_tokens=0)
        await store.usage.record("t", "small", input_tokens=1, output_tokens=0)
        stranger = store.for_tenant(f"{store.tenant}-stranger")
        await stranger.usage.record("s", "small", input_tokens=7, output_tokens=7)
        assert await store.usage.session("s") == Usage(3, 29 + 2**48, 3, 5, 70)
        rows = [(row.day, row.model, row.usage) for row in await store.usage.by_day()]
        assert rows == [
            (20_000, "large", Usage(1, 20, 2, 5, 70)),
            (20_000, "small", Usage(1, 10, 1)),
            (20_001, "small", Usage(2, 2**48, 0)),
        ]
        assert [row.day for row in await store.usage.by_day(20_001)] == [20_001]
        assert [row.model for row in await store.usage.by_day(0, 20_001)] == ["large", "small"]
        assert [row.usage for row in await stranger.usage.by_day()] == [Usage(1, 7, 7)]
        await assert_verified(store, "s", "t")
        await assert_verified(stranger, "s")


async def test_a_keyed_call_counts_once_and_another_body_is_a_conflict(store: Store) -> None:
    totals = await asyncio.gather(
        *(store.usage.record("s", "m", input_tokens=1, output_tokens=2, idempotency_key="k") for _ in range(8))
    )
    assert set(totals) == {Usage(1, 1, 2)}
    with pytest.raises(IdempotencyConflict):
        await store.usage.record("s", "m", input_tokens=2, output_tokens=2, idempotency_key="k")
    assert await store.usage.session("s") == Usage(1, 1, 2)
    assert len(await store.read("s")) == 1


async def test_a_call_that_is_run_again_after_a_lost_answer_counts_once(store: Store) -> None:
    again = replace(store.usage, workers=Twice(store.usage.workers))
    assert await again.record("s", "m", input_tokens=1, output_tokens=2) == Usage(1, 1, 2)
    assert len(await store.read("s")) == 1
    await assert_verified(store, "s")


async def test_usage_of_nothing_and_of_nobody(store: Store) -> None:
    await store.append("s", numbered(1))
    assert await store.usage.session("s") == Usage()
    assert await store.usage.by_day() == []
    for view, session_id in ((store, "nobody"), (store.for_tenant(f"{store.tenant}-stranger"), "s")):
        with pytest.raises(NotFound):
            await view.usage.session(session_id)


async def test_bad_usage_is_refused_and_nothing_is_written(store: Store) -> None:
    bad: list[Call] = [
        lambda s: s.usage.record("a/b", "m", input_tokens=1, output_tokens=1),
        lambda s: s.usage.record("s", "", input_tokens=1, output_tokens=1),
        lambda s: s.usage.record("s", "nul\0", input_tokens=1, output_tokens=1),
        lambda s: s.usage.record("s", "m", input_tokens=-1, output_tokens=1),
        lambda s: s.usage.record("s", "m", input_tokens=True, output_tokens=1),
        lambda s: s.usage.record("s", "m", input_tokens=1.5, output_tokens=1),  # type: ignore[arg-type]
        lambda s: s.usage.record("s", "m", input_tokens=1, output_tokens=2**48),
        lambda s: s.usage.record("s", "m", input_tokens=1, output_tokens=1, idempotency_key="holdfast.x"),
        lambda s: s.usage.by_day("yesterday"),  # type: ignore[arg-type]
        lambda s: s.usage.by_day(0, 2**70),
    ]
    await store.append("s", numbered(1))
    for number, call in enumerate(bad):
        with pytest.raises(InvalidInput):
            await call(store)
            pytest.fail(f"{number} was accepted")
    assert len(await store.read("s")) == 1


async def test_what_a_deleted_session_used_still_counts(store: Store) -> None:
    await store.usage.record("s", "m", input_tokens=3, output_tokens=4)
    before = await store.usage.by_day()
    await store.deletion.delete("s")
    await store.archives.purge("s")
    assert [row.usage for row in before] == [Usage(1, 3, 4)]
    assert await store.usage.by_day() == before
