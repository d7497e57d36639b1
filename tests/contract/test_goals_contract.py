"""What goals and sub-agents do, on every engine."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from tests.support.changes import assert_verified, types_of
from tests.support.interrupted import Twice
from tests.support.material import numbered

from holdfast.core.errors import Conflict, IdempotencyConflict, InvalidInput, NotFound, TooLarge
from holdfast.store import Store, open_store

Call = Callable[[Store], Coroutine[Any, Any, Any]]


async def test_goals_are_named_in_the_order_they_are_added(store: Store) -> None:
    first = await store.goals.add("s", "begin")
    assert (first.goal_id, first.description, first.status, first.priority) == (
        "goal-001",
        "begin",
        "pending",
        "medium",
    )
    assert first.completed_at is None
    await store.goals.add("s", "named", goal_id="mine", status="completed", priority="high")
    await store.goals.add("s", "third")
    assert [goal.goal_id for goal in await store.goals.list("s")] == ["goal-001", "mine", "goal-003"]
    assert (await store.goals.list("s"))[0] == first
    await assert_verified(store, "s")


async def test_a_name_that_somebody_took_is_passed_over(store: Store) -> None:
    await store.goals.add("s", "taken", goal_id="goal-002")
    await store.goals.add("s", "taken too", goal_id="goal-003")
    assert (await store.goals.add("s", "free")).goal_id == "goal-004"
    assert (await store.goals.add("other", "its own")).goal_id == "goal-001"
    await assert_verified(store, "s", "other")


async def test_goals_added_at_once_have_names_of_their_own(store_url: str) -> None:
    async with await open_store(store_url) as one, await open_store(store_url) as two:
        made = await asyncio.gather(*(s.goals.add("s", f"{n}") for s in (one, two) for n in range(10)))
        assert sorted(goal.goal_id for goal in made) == [f"goal-{n:03}" for n in range(1, 21)]
        await assert_verified(one, "s")


async def test_a_goal_changes_and_knows_when_it_ended(store: Store) -> None:
    await store.goals.add("s", "g")
    changed = await store.goals.update("s", "goal-001", {"status": "in_progress", "description": "better"})
    assert (changed.status, changed.description, changed.completed_at) == ("in_progress", "better", None)
    done = await store.goals.update("s", "goal-001", {"status": "completed", "priority": "low"})
    assert done.completed_at is not None
    still = await store.goals.update("s", "goal-001", {"status": "failed"})
    assert still.completed_at == done.completed_at
    assert (await store.goals.update("s", "goal-001", {"status": "pending"})).completed_at is None
    assert len(await store.goals.list("s")) == 1
    await assert_verified(store, "s")


async def test_the_same_goal_by_name_is_there_and_another_is_a_conflict(store: Store) -> None:
    first = await store.goals.add("s", "g", goal_id="mine")
    assert await store.goals.add("s", "g", goal_id="mine") == first
    with pytest.raises(Conflict):
        await store.goals.add("s", "another", goal_id="mine")
    assert await types_of(store, "s") == ["goal_added"]


async def test_a_keyed_goal_is_added_once_and_its_retry_is_told_the_first_result(store: Store) -> None:
    made = await asyncio.gather(*(store.goals.add("s", "g", idempotency_key="k") for _ in range(8)))
    assert {goal.goal_id for goal in made} == {"goal-001"}
    assert sum(not goal.replayed for goal in made) == 1
    await store.goals.update("s", "goal-001", {"status": "completed"})
    assert await store.goals.add("s", "g", idempotency_key="k") == made[0]
    others: list[Call] = [
        lambda s: s.goals.add("s", "other", idempotency_key="k"),
        lambda s: s.goals.add("s", "g", priority="high", idempotency_key="k"),
        lambda s: s.goals.add("s", "g", goal_id="mine", idempotency_key="k"),
        lambda s: s.goals.update("s", "goal-001", {"status": "failed"}, idempotency_key="k"),
        lambda s: s.agents.spawn("s", "g", idempotency_key="k"),
        lambda s: s.checkpoints.create("s", idempotency_key="k"),
    ]
    for other in others:
        with pytest.raises(IdempotencyConflict):
            await other(store)
    assert await types_of(store, "s") == ["goal_added", "goal_updated"]
    await assert_verified(store, "s")


async def test_a_keyed_change_of_a_goal_counts_once(store: Store) -> None:
    await store.goals.add("s", "g")
    await asyncio.gather(
        *(store.goals.update("s", "goal-001", {"status": "failed"}, idempotency_key="k") for _ in range(8))
    )
    with pytest.raises(IdempotencyConflict):
        await store.goals.update("s", "goal-001", {"status": "completed"}, idempotency_key="k")
    assert await types_of(store, "s") == ["goal_added", "goal_updated"]


async def test_sub_agents_are_spawned_and_end(store: Store) -> None:
    one = await store.agents.spawn("s", "researcher", {"question": "why"}, agent_id="a1")
    two = await store.agents.spawn("s", "writer")
    assert (one.agent_id, one.type, one.task, one.status) == ("a1", "researcher", {"question": "why"}, "active")
    ended = await store.agents.complete("s", "a1", "failed", {"error": 1})
    assert (ended.status, ended.result) == ("failed", {"error": 1})
    assert ended.completed_at is not None
    assert await store.agents.list("s") == [ended, two]
    await assert_verified(store, "s")


async def test_the_same_spawn_and_the_same_end_again_change_nothing(store: Store) -> None:
    task = {"b": (1, 2), "a": None}
    first = await store.agents.spawn("s", "t", task, agent_id="a")
    assert await store.agents.spawn("s", "t", {"a": None, "b": [1, 2]}, agent_id="a") == first
    for other in (
        ("u", task),
        ("t", {"a": None}),
        ("t", {"b": [True, 2], "a": None}),
        ("t", {"b": [1.0, 2], "a": None}),
    ):
        with pytest.raises(Conflict):
            await store.agents.spawn("s", *other, agent_id="a")
    ended = await store.agents.complete("s", "a", result={"n": 1, "m": (2,)})
    assert await store.agents.complete("s", "a", result={"m": [2], "n": 1}) == ended
    for status, result in (("failed", {"n": 1, "m": [2]}), ("completed", {"n": True, "m": [2]}), ("completed", None)):
        with pytest.raises(Conflict):
            await store.agents.complete("s", "a", status, result)
    assert await types_of(store, "s") == ["agent_spawned", "agent_completed"]
    await assert_verified(store, "s")


async def test_keyed_sub_agents_are_spawned_and_end_once(store: Store) -> None:
    made = await asyncio.gather(*(store.agents.spawn("s", "t", 1, idempotency_key="k") for _ in range(8)))
    assert len({agent.agent_id for agent in made}) == 1
    assert sum(not agent.replayed for agent in made) == 1
    name = made[0].agent_id
    assert (await store.agents.spawn("s", "t", 1, idempotency_key="k2")).agent_id != name
    ended = await asyncio.gather(*(store.agents.complete("s", name, result=1, idempotency_key="end") for _ in range(8)))
    assert len({agent.completed_at for agent in ended}) == 1
    others: list[Call] = [
        lambda s: s.agents.spawn("s", "t", 2, idempotency_key="k"),
        lambda s: s.agents.spawn("s", "t", 1, agent_id="named", idempotency_key="k"),
        lambda s: s.agents.complete("s", name, result=2, idempotency_key="end"),
        lambda s: s.agents.complete("s", name, result=1, idempotency_key="k"),
    ]
    for other in others:
        with pytest.raises(IdempotencyConflict):
            await other(store)
    assert await types_of(store, "s") == ["agent_spawned", "agent_spawned", "agent_completed"]
    await assert_verified(store, "s")


BAD: list[Call] = [
    lambda s: s.goals.add("a/b", "g"),
    lambda s: s.goals.add("s", 5),  # type: ignore[arg-type]
    lambda s: s.goals.add("s", "lone\ud800"),
    lambda s: s.goals.add("s", "g", status="done"),
    lambda s: s.goals.add("s", "g", priority="urgent"),
    lambda s: s.goals.add("s", "g", goal_id=""),
    lambda s: s.goals.add("s", "g", goal_id="nul\0"),
    lambda s: s.goals.add("s", "g", idempotency_key="holdfast.mine"),
    lambda s: s.goals.update("s", "goal-001", {}),
    lambda s: s.goals.update("s", "goal-001", {"colour": "red"}),
    lambda s: s.goals.update("s", "goal-001", {"status": None}),
    lambda s: s.goals.update("s", "goal-001", ["status"]),  # type: ignore[arg-type]
    lambda s: s.goals.update("s", "nul\0", {"status": "failed"}),
    lambda s: s.goals.update("s", 1, {"status": "failed"}),  # type: ignore[arg-type]
    lambda s: s.agents.spawn("s", ""),
    lambda s: s.agents.spawn("s", "t", object()),
    lambda s: s.agents.spawn("s", "t", agent_id="nul\0"),
    lambda s: s.agents.complete("s", "a", "exploded"),
    lambda s: s.agents.complete("s", "nul\0"),
    lambda s: s.agents.complete("s", "lone\ud800"),
    lambda s: s.agents.complete("s", "a", result=float("nan")),
]


async def test_bad_goals_and_sub_agents_are_refused_and_nothing_is_written(store: Store) -> None:
    await store.goals.add("s", "g")
    await store.agents.spawn("s", "t", agent_id="a")
    for number, bad in enumerate(BAD):
        with pytest.raises(InvalidInput):
            await bad(store)
            pytest.fail(f"{number} was accepted")
    with pytest.raises(TooLarge):
        await store.goals.add("s", "x" * (16 * 1024 * 1024))
    assert len(await store.read("s")) == 2


async def test_unknown_goals_sub_agents_sessions_and_other_tenants_are_not_found(store: Store) -> None:
    await store.goals.add("s", "g")
    await store.agents.spawn("s", "t", agent_id="a")
    stranger = store.for_tenant(f"{store.tenant}-stranger")
    unknown: list[Coroutine[Any, Any, Any]] = [
        store.goals.update("s", "nobody", {"status": "failed"}),
        store.agents.complete("s", "nobody"),
        store.goals.add("nobody", "g", create=False),
        store.agents.spawn("nobody", "t", create=False),
        store.goals.list("nobody"),
        store.agents.list("nobody"),
        stranger.goals.list("s"),
        stranger.goals.update("s", "goal-001", {"status": "failed"}),
        stranger.agents.list("s"),
        stranger.agents.complete("s", "a"),
    ]
    for call in unknown:
        with pytest.raises(NotFound):
            await call
    assert (await stranger.goals.add("s", "theirs")).goal_id == "goal-001"
    assert [goal.description for goal in await store.goals.list("s")] == ["g"]
    await assert_verified(store, "s")


async def test_writes_that_are_run_again_after_a_lost_answer_are_one(store: Store) -> None:
    """The answer of a commit was lost and others have written since: the run after it finds what it did."""

    async def meanwhile() -> None:
        await store.goals.add("s", "somebody else's")

    goals = replace(store.goals, workers=Twice(store.goals.workers, meanwhile))
    agents = replace(store.agents, workers=Twice(store.agents.workers, meanwhile))
    added = await goals.add("s", "g")
    assert (added.goal_id, added.replayed) == ("goal-001", False)
    await goals.update("s", "goal-001", {"status": "completed"})
    spawned = await agents.spawn("s", "t", {"n": 1})
    assert not spawned.replayed
    await agents.complete("s", spawned.agent_id, result=1)
    mine = [name for name in await types_of(store, "s") if name != "goal_added"]
    assert mine == ["goal_updated", "agent_spawned", "agent_completed"]
    assert [goal.goal_id for goal in await store.goals.list("s")] == [f"goal-{n:03}" for n in range(1, 6)]
    await assert_verified(store, "s")


async def test_a_retry_of_what_was_erased_brings_nothing_back(store: Store) -> None:
    await store.append("s", numbered(1))
    await store.goals.add("s", "secret", idempotency_key="goal")
    await store.agents.spawn("s", "t", "secret", idempotency_key="agent")
    await store.erasure.erase("s", [2, 3], reason="asked to")
    retries: list[Call] = [
        lambda s: s.goals.add("s", "secret", idempotency_key="goal"),
        lambda s: s.agents.spawn("s", "t", "secret", idempotency_key="agent"),
    ]
    for retry in retries:
        with pytest.raises(NotFound):
            await retry(store)
    assert await store.goals.list("s") == []
    assert await store.agents.list("s") == []
    await assert_verified(store, "s")
