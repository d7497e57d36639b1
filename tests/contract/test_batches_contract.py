"""Batches: twins, parents and keys. What a batch was told when it was first written, every retry of it is told."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.changes import assert_verified

from holdfast.core import Appended
from holdfast.core.errors import HoldfastError, IdempotencyConflict, InvalidInput
from holdfast.store import NewEvent, Store


def note(event_id: str | None = None, key: str | None = None, parent: str | None = None, n: int = 1) -> NewEvent:
    return NewEvent("note", {"n": n}, event_id=event_id, idempotency_key=key, parent_id=parent)


async def assert_told_truly(store: Store, batch: Sequence[NewEvent], told: Appended, session_id: str = "s") -> None:
    """Every id that was returned is in the log, at the seq that was returned, with the body that was sent."""
    log = {event.seq: event for event in await store.read(session_id)}
    for event, seq, event_id, at in zip(batch, told.seqs, told.event_ids, told.created_at, strict=True):
        found = log[seq]
        assert (found.event_id, found.created_at, found.value()) == (event_id, at, event.payload)


async def test_the_id_of_a_twin_is_that_of_the_event_in_the_log(store: Store) -> None:
    batch = [note(key="k"), note(key="k"), note("chosen", "k")]
    told = await store.append("s", batch)
    assert told.seqs == (1, 1, 1)
    await assert_told_truly(store, batch, told)
    again = await store.append("s", batch)
    assert (again.seqs, again.event_ids) == (told.seqs, told.event_ids)


@pytest.mark.parametrize("twin", [note(key="k"), note("x")], ids=["by its key", "by its id"])
async def test_what_is_in_a_batch_twice_is_written_once(store: Store, twin: NewEvent) -> None:
    batch = [note(n=7), twin, note(n=7), twin]
    told = await store.append("s", batch)
    assert (told.seqs, len(await store.read("s"))) == ((1, 2, 3, 2), 3)
    await assert_told_truly(store, batch, told)


async def test_a_parent_that_is_only_a_twins_id_is_not_in_the_session(store: Store) -> None:
    with pytest.raises(InvalidInput, match="parent"):
        await store.append("s", [note("x", "k"), note("y", "k"), note(parent="y", n=2)])
    told = await store.append("s", [note("x", "k"), note("y", "k"), note(parent="x", n=2)])
    assert told.seqs == (1, 1, 2)
    with pytest.raises(InvalidInput, match="parent"):
        await store.append("s", [note("z", "k"), note(parent="z", n=3)])


async def test_the_key_of_a_twin_is_kept(store: Store) -> None:
    await store.append("s", [note("x"), note("x", "k")])
    again = await store.append("s", [note(key="k")])
    assert (again.seqs, again.event_ids, again.replayed) == ((1,), ("x",), 1)


@pytest.mark.parametrize(
    "batch",
    [
        [note("x", "k1"), note("x", "k2")],
        [note("x"), note(key="k"), note("x", "k")],
        [note("x", "k"), note("y", "k"), note("y")],
        [note("y"), note("x", "k"), note("y", "k")],
    ],
    ids=["two keys", "two events", "an id that is not kept", "an id of another"],
)
async def test_a_batch_whose_retry_would_conflict_is_refused_at_once(store: Store, batch: list[NewEvent]) -> None:
    with pytest.raises(IdempotencyConflict):
        await store.append("s", batch)
    await store.append("s", [note(n=9)])
    assert [event.value() for event in await store.read("s")] == [{"n": 9}], "nothing of it was written"


async def test_what_is_in_the_log_already_counts_as_well(store: Store) -> None:
    await store.append("s", [note("x", "k")])
    for batch in ([note("y", "k"), note("y")], [note("y"), note("y", "k")], [note("x", "other")]):
        with pytest.raises(IdempotencyConflict):
            await store.append("s", batch)
    assert len(await store.read("s")) == 1


NAMES = st.sampled_from([None, "a", "b"])
EVENTS = st.builds(note, NAMES, st.sampled_from([None, "k", "l"]), st.none(), st.sampled_from([1, 1, 2]))
BATCHES = st.lists(st.lists(EVENTS, min_size=1, max_size=4), min_size=1, max_size=3)
number = itertools.count()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=BATCHES)
async def test_a_retry_at_once_of_whatever_was_acknowledged_is_told_the_same(
    store: Store, batches: list[list[NewEvent]]
) -> None:
    session_id = f"s{next(number)}"
    for batch in batches:
        try:
            told = await store.append(session_id, batch)
        except HoldfastError:
            continue
        await assert_told_truly(store, batch, told, session_id)
        if all(event.event_id or event.idempotency_key for event in batch):
            again = await store.append(session_id, batch)
            assert (again.seqs, again.event_ids, again.created_at) == (told.seqs, told.event_ids, told.created_at)
            assert again.replayed == len(batch)
    if (await store.sessions.list()).sessions:
        await assert_verified(store, *[each.session_id for each in (await store.sessions.list(limit=1)).sessions])


async def test_one_id_of_two_events_that_others_stand_for_is_told_by_each_key(store: Store) -> None:
    batch = [note(None, "k", None, 2), note(None, "l", None, 2), note("a", "k", None, 2), note("a", "l", None, 2)]
    told = await store.append("s", batch)
    assert told.seqs == (1, 2, 1, 2)
    assert (await store.append("s", batch)).seqs == told.seqs


async def test_a_goal_that_was_there_already_keeps_the_key_of_the_second_that_added_it(store: Store) -> None:
    await store.goals.add("s", "land", goal_id="g")
    assert (await store.goals.add("s", "land", goal_id="g", idempotency_key="k")).replayed
    await store.goals.update("s", "g", {"description": "land softly"})
    again = await store.goals.add("s", "land", goal_id="g", idempotency_key="k")
    assert (again.goal_id, again.replayed) == ("g", True)
    for goal_id, text in (("g", "another"), ("h", "land"), (None, "other")):
        with pytest.raises(IdempotencyConflict):
            await store.goals.add("s", text, goal_id=goal_id, idempotency_key="k")
    assert [goal.description for goal in await store.goals.list("s")] == ["land softly"]
    await assert_verified(store, "s")
