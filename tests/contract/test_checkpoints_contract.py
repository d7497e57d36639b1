"""What checkpoints, snapshots, compaction and resume do, on every engine."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from tests.support.changes import assert_verified, types_of
from tests.support.interrupted import Twice
from tests.support.material import numbered

from holdfast.core.errors import Conflict, IdempotencyConflict, InvalidInput, NotFound, StaleWriter, TooLarge
from holdfast.store import NewEvent, Store

Call = Callable[[Store], Coroutine[Any, Any, Any]]


async def test_a_checkpoint_names_a_point_in_the_log(store: Store) -> None:
    await store.append("s", numbered(1, 2, 3))
    now = await store.checkpoints.create("s", "before lunch")
    assert (now.name, now.seq, now.reason) == ("before lunch", 3, "manual")
    earlier = await store.checkpoints.create("s", checkpoint_id="mine", seq=1)
    assert (earlier.checkpoint_id, earlier.name, earlier.seq) == ("mine", "", 1)
    assert await store.checkpoints.list("s") == [now, earlier]
    assert await store.checkpoints.get("s", "mine") == earlier
    await assert_verified(store, "s")


async def test_a_checkpoint_is_never_replaced_by_another_of_its_name(store: Store) -> None:
    await store.append("s", numbered(1, 2))
    first = await store.checkpoints.create("s", "first", checkpoint_id="c", seq=1)
    with pytest.raises(Conflict):
        await store.checkpoints.create("s", "second", checkpoint_id="c")
    assert await store.checkpoints.list("s") == [first]


async def test_the_newest_twenty_five_checkpoints_are_kept(store: Store) -> None:
    await store.append("s", numbered(1))
    for number in range(30):
        await store.checkpoints.create("s", checkpoint_id=f"c{number}")
    assert [found.checkpoint_id for found in await store.checkpoints.list("s")] == [f"c{n}" for n in range(5, 30)]
    with pytest.raises(NotFound):
        await store.checkpoints.get("s", "c4")
    await store.checkpoints.create("s", checkpoint_id="c4")
    await store.checkpoints.compact("s", "sum", last_seq=1)
    kept = await store.checkpoints.list("s")
    assert (len(kept), kept[0].checkpoint_id, kept[-2].checkpoint_id, kept[-1].reason) == (25, "c7", "c4", "compaction")
    await assert_verified(store, "s")


async def test_a_snapshot_stands_for_the_log_so_far(store: Store) -> None:
    await store.append("s", numbered(1, 2, 3))
    saved = await store.checkpoints.save_snapshot("s", {"sum": (6,)})
    assert (saved.seq, saved.first_seq, saved.last_seq, saved.kind) == (4, 1, 3, "snapshot")
    assert saved.document == {"sum": [6]}
    earlier = await store.checkpoints.save_snapshot("s", None, last_seq=2)
    assert (earlier.seq, earlier.last_seq, earlier.document) == (5, 2, None)
    resumed = await store.resume("s")
    assert resumed.snapshot == earlier
    assert [event.seq for event in resumed.events] == [3, 4, 5]
    await assert_verified(store, "s")


async def test_a_compaction_is_a_summary_with_its_range_and_a_checkpoint_of_the_log_before(store: Store) -> None:
    await store.append("s", numbered(1, 2, 3, 4))
    made = await store.checkpoints.compact("s", {"text": "counted"}, last_seq=3, name="nightly", expected_seq=4)
    assert (made.seq, made.first_seq, made.last_seq, made.kind, made.document) == (
        5,
        1,
        3,
        "compaction",
        {"text": "counted"},
    )
    events = await store.read("s")
    (checkpoint,) = await store.checkpoints.list("s")
    assert (checkpoint.name, checkpoint.seq, checkpoint.reason) == ("nightly", 4, "compaction")
    body = events[4].value()
    assert body["lastHash"] == events[2].hash.hex()
    assert body["checkpointId"] == checkpoint.checkpoint_id
    assert [event.value() for event in events[:4]] == [{"n": n} for n in (1, 2, 3, 4)]
    assert await types_of(store, "s") == ["number"] * 4 + ["compacted", "checkpoint_created"]
    await assert_verified(store, "s")


async def test_a_compaction_that_expected_another_log_is_refused_with_what_it_missed(store: Store) -> None:
    await store.append("s", numbered(1, 2))
    with pytest.raises(StaleWriter) as refusal:
        await store.checkpoints.compact("s", "sum", last_seq=1, expected_seq=1)
    assert [missed["seq"] for missed in refusal.value.details["missed"]] == [2]
    assert len(await store.read("s")) == 2


async def test_keyed_checkpoints_snapshots_and_compactions_are_made_once(store: Store) -> None:
    await store.append("s", numbered(1, 2))
    checkpoints = await asyncio.gather(*(store.checkpoints.create("s", "c", idempotency_key="c") for _ in range(8)))
    snapshots = await asyncio.gather(
        *(store.checkpoints.save_snapshot("s", {"a": 1, "b": 2}, idempotency_key="s") for _ in range(8))
    )
    compactions = await asyncio.gather(
        *(store.checkpoints.compact("s", "sum", last_seq=2, idempotency_key="z") for _ in range(8))
    )
    assert len(set(checkpoints)) == 1
    for made_at_once in (checkpoints, snapshots, compactions):
        assert sum(not each.replayed for each in made_at_once) == 1
    assert all(each == snapshots[0] for each in snapshots)
    assert all(each == compactions[0] for each in compactions)
    made = ["checkpoint_created", "snapshot_saved", "compacted", "checkpoint_created"]
    assert await types_of(store, "s") == ["number", "number", *made]
    await store.append("s", numbered(3))
    retries: list[tuple[Any, Call]] = [
        (checkpoints[0], lambda s: s.checkpoints.create("s", "c", seq=2, idempotency_key="c")),
        (snapshots[0], lambda s: s.checkpoints.save_snapshot("s", {"b": 2, "a": 1}, idempotency_key="s")),
        (compactions[0], lambda s: s.checkpoints.compact("s", "sum", last_seq=2, expected_seq=6, idempotency_key="z")),
    ]
    for first, retry in retries:
        assert await retry(store) == first
    others: list[Call] = [
        lambda s: s.checkpoints.create("s", "other", idempotency_key="c"),
        lambda s: s.checkpoints.create("s", "c", seq=1, idempotency_key="c"),
        lambda s: s.checkpoints.create("s", "c", checkpoint_id="mine", idempotency_key="c"),
        lambda s: s.checkpoints.create("s", "sum", idempotency_key="z"),
        lambda s: s.checkpoints.save_snapshot("s", {"a": 1}, idempotency_key="s"),
        lambda s: s.checkpoints.save_snapshot("s", None, idempotency_key="s"),
        lambda s: s.checkpoints.save_snapshot("s", {"a": 1, "b": 2}, last_seq=1, idempotency_key="s"),
        lambda s: s.checkpoints.save_snapshot("s", "sum", idempotency_key="z"),
        lambda s: s.checkpoints.compact("s", "other", last_seq=2, idempotency_key="z"),
        lambda s: s.checkpoints.compact("s", "sum", last_seq=1, idempotency_key="z"),
        lambda s: s.checkpoints.compact("s", "sum", first_seq=2, last_seq=2, idempotency_key="z"),
        lambda s: s.checkpoints.compact("s", "sum", last_seq=2, idempotency_key="c"),
    ]
    for other in others:
        with pytest.raises(IdempotencyConflict):
            await other(store)
    assert len(await store.read("s")) == 7
    await assert_verified(store, "s")


BAD: list[Call] = [
    lambda s: s.checkpoints.create("a/b"),
    lambda s: s.checkpoints.create("s", 5),  # type: ignore[arg-type]
    lambda s: s.checkpoints.create("s", "lone\ud800"),
    lambda s: s.checkpoints.create("s", checkpoint_id=""),
    lambda s: s.checkpoints.create("s", checkpoint_id="nul\0"),
    lambda s: s.checkpoints.create("s", seq=0),
    lambda s: s.checkpoints.create("s", seq=3),
    lambda s: s.checkpoints.create("s", seq=True),
    lambda s: s.checkpoints.create("s", seq="1"),  # type: ignore[arg-type]
    lambda s: s.checkpoints.save_snapshot("s", object()),
    lambda s: s.checkpoints.save_snapshot("s", {}, last_seq=3),
    lambda s: s.checkpoints.save_snapshot("s", {}, idempotency_key=""),
    lambda s: s.checkpoints.compact("s", None, last_seq=1),
    lambda s: s.checkpoints.compact("s", "", last_seq=1),
    lambda s: s.checkpoints.compact("s", " \n", last_seq=1),
    lambda s: s.checkpoints.compact("s", {}, last_seq=1),
    lambda s: s.checkpoints.compact("s", "sum", last_seq=3),
    lambda s: s.checkpoints.compact("s", "sum", last_seq=0),
    lambda s: s.checkpoints.compact("s", "sum", first_seq=2, last_seq=1),
    lambda s: s.checkpoints.compact("s", "sum", first_seq="1", last_seq=2),  # type: ignore[arg-type]
    lambda s: s.checkpoints.compact("s", "sum", last_seq=1, name=None),  # type: ignore[arg-type]
    lambda s: s.resume("s", limit=0),
    lambda s: s.resume("s", limit=2_001),
    lambda s: s.resume("s", limit="5"),  # type: ignore[arg-type]
    lambda s: s.resume("a/b"),
]


async def test_bad_checkpoints_are_refused_and_nothing_is_written(store: Store) -> None:
    await store.append("s", numbered(1, 2))
    for number, bad in enumerate(BAD):
        with pytest.raises(InvalidInput):
            await bad(store)
            pytest.fail(f"{number} was accepted")
    huge = "x" * (16 * 1024 * 1024)
    with pytest.raises(TooLarge):
        await store.checkpoints.save_snapshot("s", huge)
    with pytest.raises(TooLarge):
        await store.checkpoints.compact("s", huge, last_seq=1)
    assert len(await store.read("s")) == 2


async def test_unknown_sessions_checkpoints_and_other_tenants_are_not_found(store: Store) -> None:
    await store.append("s", numbered(1))
    await store.checkpoints.create("s", checkpoint_id="c")
    stranger = store.for_tenant(f"{store.tenant}-stranger")
    for view, session_id in ((store, "nobody"), (stranger, "s")):
        unknown: list[Coroutine[Any, Any, Any]] = [
            view.checkpoints.create(session_id),
            view.checkpoints.list(session_id),
            view.checkpoints.get(session_id, "c"),
            view.checkpoints.save_snapshot(session_id, {}),
            view.checkpoints.compact(session_id, "sum", last_seq=1),
            view.resume(session_id),
        ]
        for call in unknown:
            with pytest.raises(NotFound):
                await call
    with pytest.raises(NotFound):
        await store.checkpoints.get("s", "nobody")


async def test_writes_that_are_run_again_after_a_lost_answer_are_one(store: Store) -> None:
    await store.append("s", numbered(1, 2))

    async def meanwhile() -> None:
        await store.append("s", numbered(3))

    again = replace(store.checkpoints, workers=Twice(store.checkpoints.workers, meanwhile))
    created = await again.create("s", "c")
    saved = await again.save_snapshot("s", {"n": 1})
    made = await again.compact("s", "sum", last_seq=2)
    assert (created.seq, saved.last_seq) == (2, 4)
    assert not (created.replayed or saved.replayed or made.replayed)
    assert made.document == "sum"
    mine = [name for name in await types_of(store, "s") if name != "number"]
    assert mine == ["checkpoint_created", "snapshot_saved", "compacted", "checkpoint_created"]
    assert len(await store.checkpoints.list("s")) == 2
    await assert_verified(store, "s")


async def test_a_retry_of_what_was_erased_brings_nothing_back(store: Store) -> None:
    await store.append("s", numbered(1))
    await store.checkpoints.create("s", "secret", idempotency_key="c")
    await store.checkpoints.save_snapshot("s", "secret", idempotency_key="s")
    await store.erasure.erase("s", [2, 3], reason="asked to")
    retries: list[Call] = [
        lambda s: s.checkpoints.create("s", "secret", idempotency_key="c"),
        lambda s: s.checkpoints.save_snapshot("s", "secret", idempotency_key="s"),
    ]
    for retry in retries:
        with pytest.raises(NotFound):
            await retry(store)
    assert (await store.resume("s")).snapshot is None
    await assert_verified(store, "s")


async def test_resume_is_all_that_a_program_needs_to_go_on(store: Store) -> None:
    await store.sessions.create("s", user_id="ada")
    await store.goals.add("s", "open")
    await store.goals.add("s", "closed", status="completed")
    await store.goals.add("s", "begun", status="in_progress")
    await store.goals.add("s", "open too")
    await store.agents.spawn("s", "t", agent_id="at work")
    await store.agents.spawn("s", "t", agent_id="done")
    await store.agents.complete("s", "done")
    await store.effects.start("s", "open call", "mail")
    await store.effects.start("s", "ended call", "mail")
    await store.effects.finish("s", "ended call")
    await store.state.patch("s", {"phase": "execution"})
    resumed = await store.resume("s")
    assert resumed.session == await store.sessions.get("s")
    assert [goal.description for goal in resumed.goals] == ["open", "begun", "open too"]
    assert [agent.agent_id for agent in resumed.agents] == ["at work"]
    assert [effect.call_id for effect in resumed.effects] == ["open call"]
    assert resumed.state == await store.state.get("s")
    assert (resumed.events, resumed.complete, resumed.snapshot) == (await store.read("s"), True, None)


async def test_resume_says_whether_anything_lies_between_its_snapshot_and_its_events(store: Store) -> None:
    await store.append("s", [NewEvent("n", n) for n in range(10)])
    some = await store.resume("s", limit=3)
    assert ([event.seq for event in some.events], some.complete) == ([8, 9, 10], False)
    await store.checkpoints.compact("s", "sum", last_seq=8)
    rest = await store.resume("s", limit=4)
    assert ([event.seq for event in rest.events], rest.complete) == ([9, 10, 11, 12], True)
    assert not (await store.resume("s", limit=3)).complete
    await store.keys.resolve("key", session_id="empty")
    nothing = await store.resume("empty")
    assert (nothing.events, nothing.complete, nothing.state.version) == ([], True, 0)


async def test_a_summary_of_the_middle_does_not_hide_what_came_before_it(store: Store) -> None:
    """Two summaries, one after the other: the second says nothing of what the first stands for."""
    await store.append("s", numbered(*range(1, 11)))
    first = await store.checkpoints.compact("s", "one to four", last_seq=4)
    await store.checkpoints.compact("s", "five to eight", first_seq=5, last_seq=8)
    resumed = await store.resume("s")
    assert (resumed.snapshot, resumed.complete) == (first, True)
    assert [event.seq for event in resumed.events] == list(range(5, 15))
    await assert_verified(store, "s")


async def test_the_newest_compaction_is_found_behind_snapshots_and_gone_once_it_is_erased(store: Store) -> None:
    await store.append("s", [NewEvent("x", {"n": number}) for number in range(4)])
    assert await store.checkpoints.newest_compaction("s") is None
    first = await store.checkpoints.compact("s", "one", last_seq=2)
    second = await store.checkpoints.compact("s", "two", last_seq=3)
    await store.checkpoints.compact("s", "of a part", first_seq=2, last_seq=3)
    await store.checkpoints.save_snapshot("s", {"a": 1})
    assert await store.checkpoints.newest_compaction("s") == second
    await store.erasure.erase("s", [second.seq], reason="asked for")
    assert await store.checkpoints.newest_compaction("s") == first
