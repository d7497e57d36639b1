"""Retries that are written otherwise than the first time: answered alike for any size; no lane parses large ones."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.support.changes import assert_verified

from holdfast.core import strict_json
from holdfast.core.errors import IdempotencyConflict, StaleWriter
from holdfast.store import NewEvent, Store
from holdfast.store.log.body_pairs import IN_LANE

LARGE: dict[str, Any] = {f"k{n}": [n, "é"] for n in range(IN_LANE // 8)}


def plainly(value: Any) -> bytes:
    return json.dumps(value).encode()


def otherwise(value: dict[str, Any]) -> bytes:
    """The same value: other order, spaces and escapes."""
    return json.dumps(dict(reversed(value.items())), ensure_ascii=False, separators=(",", ":")).encode()


@pytest.fixture(autouse=True)
def compared(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many bytes lanes compared, each time; at the end none may have been too many for one write."""
    sizes: list[int] = []
    compare = strict_json.same_value

    def counted(one: bytes, other: bytes) -> bool:
        if threading.current_thread().name.startswith("holdfast-lane"):
            sizes.append(len(one) + len(other))
        return compare(one, other)

    monkeypatch.setattr(strict_json, "same_value", counted)
    yield sizes
    assert all(size <= IN_LANE for size in sizes)


@pytest.mark.parametrize("value", [{"a": [1, "é"], "b": 2}, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("by", ["key", "id"])
async def test_the_same_written_otherwise_is_a_retry(store: Store, value: dict[str, Any], by: str) -> None:
    name = {"idempotency_key": "k"} if by == "key" else {"event_id": "k"}
    first = await store.append("s", [NewEvent("a", plainly(value), **name)])  # type: ignore[arg-type]
    again = await store.append("s", [NewEvent("a", otherwise(value), **name)])  # type: ignore[arg-type]
    assert (again.first_seq, again.replayed) == (first.first_seq, True)
    with pytest.raises(IdempotencyConflict):
        await store.append("s", [NewEvent("a", otherwise(value | {"a": 3}), **name)])  # type: ignore[arg-type]
    assert (await store.sessions.get("s")).head_seq == 1
    await assert_verified(store)


async def test_many_small_ones_are_as_much_as_one_large(store: Store, compared: list[int]) -> None:
    values = [{"n": n, "text": "é" * 100} for n in range(1_000)]
    first = [NewEvent("a", plainly(each), idempotency_key=f"k{each['n']}") for each in values]
    await store.append("s", first)
    again = [NewEvent("a", otherwise(each), idempotency_key=f"k{each['n']}") for each in values]
    assert (await store.append("s", again)).replayed
    assert sum(compared) <= 2 * IN_LANE, "the write ran twice, and each time compared no more than it may"
    again[-1] = NewEvent("a", otherwise({"n": 0}), idempotency_key=again[-1].idempotency_key)
    with pytest.raises(IdempotencyConflict, match="k999"):
        await store.append("s", again)


async def test_a_retry_with_more_beside_it_appends_what_is_new(store: Store) -> None:
    await store.append("s", [NewEvent("a", plainly(LARGE), event_id="one")])
    both = [NewEvent("a", otherwise(LARGE), event_id="one"), NewEvent("a", plainly(LARGE), event_id="two")]
    await store.append("s", both)
    assert (await store.sessions.get("s")).head_seq == 2
    await assert_verified(store)


async def test_twins_of_one_batch(store: Store) -> None:
    twins = [NewEvent("a", write(LARGE), event_id="one") for write in (plainly, otherwise)]
    await store.append("s", twins)
    assert (await store.sessions.get("s")).head_seq == 1
    others = [NewEvent("a", write, event_id="two") for write in (plainly(LARGE), otherwise(LARGE | {"k0": 0}))]
    with pytest.raises(IdempotencyConflict, match="twice"):
        await store.append("s", others)
    await assert_verified(store)


async def test_a_patch_written_otherwise_is_a_retry(store: Store) -> None:
    first = await store.state.patch("s", LARGE, idempotency_key="k")
    assert await store.state.patch("s", dict(reversed(LARGE.items())), idempotency_key="k") == first
    with pytest.raises(IdempotencyConflict):
        await store.state.patch("s", LARGE | {"k0": 0}, idempotency_key="k")


async def test_a_large_event_that_a_writer_missed_is_told_as_it_is(store: Store) -> None:
    await store.append("s", [NewEvent("a", {"n": 1}), NewEvent("a", plainly(LARGE))])
    with pytest.raises(StaleWriter) as stale:
        await store.append("s", [NewEvent("a", {})], expected_seq=0)
    small, large = (missed["payload"] for missed in stale.value.details["missed"])
    assert (small, large) == ({"n": 1}, msgspec.Raw(plainly(LARGE)))
