"""Promise 2: a retry changes nothing."""

import asyncio

import pytest

from holdfast.core.errors import IdempotencyConflict, StaleWriter
from holdfast.store import NewEvent, Store, open_store


async def test_the_same_key_returns_the_original_seqs(store: Store) -> None:
    batch = [NewEvent("t", {"n": n}, idempotency_key=f"k{n}") for n in range(5)]
    first = await store.append("s", batch)
    await store.append("s", [NewEvent("t", "between")])
    again = await store.append("s", batch)
    assert (again.seqs, again.event_ids, again.created_at) == (first.seqs, first.event_ids, first.created_at)
    assert (first.replayed, again.replayed) == (0, 5)
    assert (await store.sessions.get("s")).head_seq == 6


async def test_the_same_event_id_is_the_same_event(store: Store) -> None:
    first = await store.append("s", [NewEvent("t", 1, event_id="e1")])
    again = await store.append("s", [NewEvent("t", 1, event_id="e1")])
    assert again.seqs == first.seqs
    assert len(await store.read("s")) == 1


async def test_another_spelling_of_the_same_value_is_a_retry(store: Store) -> None:
    await store.append("s", [NewEvent("t", b'{"a": 1, "b": [true, "\xc3\xa9"]}', idempotency_key="k")])
    again = await store.append("s", [NewEvent("t", b'{"b":[true,"\\u00e9"],"a":1}', idempotency_key="k")])
    assert again.replayed == 1


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (NewEvent("t", {"a": 1}), NewEvent("t", {"a": 2})),
        (NewEvent("t", {"a": 1}), NewEvent("t", {"a": True})),
        (NewEvent("t", {"a": 1}), NewEvent("t", {"a": 1.0})),
        (NewEvent("t", {"a": None}), NewEvent("t", {})),
        (NewEvent("t", [1, 2]), NewEvent("t", [2, 1])),
        (NewEvent("t", 1), NewEvent("u", 1)),
    ],
)
async def test_the_same_key_with_another_body_is_a_conflict(store: Store, first: NewEvent, other: NewEvent) -> None:
    def keyed(event: NewEvent) -> NewEvent:
        return NewEvent(event.type, event.payload, idempotency_key="k")

    await store.append("s", [keyed(first)])
    with pytest.raises(IdempotencyConflict):
        await store.append("s", [keyed(other)])
    with pytest.raises(IdempotencyConflict):
        await store.append("s", [NewEvent("new", 1), keyed(other)])
    assert len(await store.read("s")) == 1


async def test_keys_belong_to_their_session(store: Store) -> None:
    await store.append("a", [NewEvent("t", 1, idempotency_key="k")])
    await store.append("b", [NewEvent("t", 2, idempotency_key="k")])
    await store.for_tenant(f"{store.tenant}-other").append("a", [NewEvent("t", 3, idempotency_key="k")])
    assert (await store.read("b"))[0].value() == 2


async def test_a_key_twice_in_one_batch_is_one_event(store: Store) -> None:
    twin = NewEvent("t", 1, idempotency_key="k")
    done = await store.append("s", [twin, NewEvent("u", 2), twin])
    assert done.seqs == (1, 2, 1)
    with pytest.raises(IdempotencyConflict):
        await store.append("s2", [twin, NewEvent("t", 2, idempotency_key="k")])


async def test_a_batch_that_grew_since_adds_only_what_is_new(store: Store) -> None:
    await store.append("s", [NewEvent("t", n, idempotency_key=f"k{n}") for n in (1, 2)])
    grown = await store.append("s", [NewEvent("t", n, idempotency_key=f"k{n}") for n in (1, 2, 3)])
    assert (grown.seqs, grown.replayed) == ((1, 2, 3), 2)


async def test_a_retry_is_told_the_result_even_when_it_would_now_be_stale(store: Store) -> None:
    event = NewEvent("t", 1, idempotency_key="k")
    first = await store.append("s", [event], expected_seq=0)
    await store.append("s", [NewEvent("t", 2)])
    assert (await store.append("s", [event], expected_seq=0)).seqs == first.seqs
    with pytest.raises(StaleWriter):
        await store.append("s", [NewEvent("t", 3, idempotency_key="k3")], expected_seq=0)


async def test_twenty_deliveries_at_once_from_two_processes_worth_of_stores_are_one_event(store_url: str) -> None:
    async with await open_store(store_url) as one, await open_store(store_url) as two:
        event = NewEvent("t", 1, idempotency_key="k")
        done = await asyncio.gather(*(store.append("s", [event]) for store in (one, two) for _ in range(10)))
        assert {result.seqs for result in done} == {(1,)}
        assert sum(result.replayed == 0 for result in done) == 1
