"""The outbox: written with every change of a task that has places for its news, on every engine."""

import asyncio
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from tests.support.changes import assert_verified
from tests.support.interrupted import Twice

from holdfast.core import Task
from holdfast.store import NewEvent, Store, TaskState, open_store
from holdfast.store.tasks.push_configs import StoredPushConfig

pytestmark = pytest.mark.own_store

WAITS = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'transactionid'"
NOTED = """
    INSERT INTO outbox (tenant, task_id, config_id, session_no, version, poster, tries)
    SELECT tenant, task_id, config_id, session_no, 2, 'other', 3 FROM push_configs"""
SETTLED = "DELETE FROM outbox WHERE version <= 2"


async def begun(store: Store, *configs: str, task_id: str = "t") -> Task:
    """A task with places for its news."""
    said = NewEvent("message", {"taskId": task_id})
    task = (await store.tasks.begin("s", task_id, "c", said, owner="me")).task
    for config_id in configs:
        await store.push_configs.put(StoredPushConfig(task_id, config_id, "https://example.com/"))
    return task


async def named(store: Store) -> list[tuple[str, str, int]]:
    """What waits: task, place and version."""
    return [(item.task_id, item.config_id, item.version) for item in await store.outbox.waiting()]


async def test_every_change_is_noted_for_every_place_until_it_was_posted(store: Store) -> None:
    task = await begun(store, "a", "b")
    await begun(store, task_id="without places")
    assert await named(store) == []
    task = await store.tasks.update(task, TaskState.WORKING)
    assert await named(store) == [("t", "a", 2), ("t", "b", 2)]
    await store.outbox.settle("t", "a", 2)
    task = await store.tasks.update(task, TaskState.COMPLETED)
    assert await named(store) == [("t", "a", 3), ("t", "b", 3)]
    await store.outbox.settle("t", "b", 2)
    assert await named(store) == [("t", "a", 3), ("t", "b", 3)], "what is newer than what was posted stays"
    await store.outbox.settle("t", "b", 3)
    await store.push_configs.delete("t", "a")
    assert await named(store) == [], "a place that was taken away is told nothing more"
    await assert_verified(store, "s")


async def test_only_what_a_dead_process_left_is_taken_and_by_one(store: Store) -> None:
    await store.tasks.beat("me", 60_000)
    await store.tasks.update(await begun(store, "a"), TaskState.COMPLETED)
    assert await store.outbox.left() == []
    await store.tasks.retire("me")
    [item] = await store.outbox.left()
    await store.tasks.beat("one", 60_000)
    assert await store.outbox.take(item, "one")
    assert not await store.outbox.take(item, "two")
    assert await store.outbox.left() == []
    [taken] = await store.outbox.waiting()
    assert taken == replace(item, poster="one", tries=1)


async def test_a_take_whose_answer_was_lost_is_ones_own(store: Store) -> None:
    await store.tasks.update(await begun(store, "a"), TaskState.COMPLETED)
    [item] = await store.outbox.left()
    assert await replace(store.outbox, workers=Twice(store.outbox.workers)).take(item, "one")
    [taken] = await store.outbox.waiting()
    assert taken.tries == 1


async def test_a_take_of_ones_own_is_no_try(store: Store) -> None:
    await store.tasks.update(await begun(store, "a"), TaskState.COMPLETED)
    [item] = await store.outbox.left()
    for _ in range(3):
        assert await store.outbox.take(item, "me")
    assert await store.outbox.waiting() == [item]


async def test_whoever_asks_is_shown_its_own_too_and_never_what_is_another_living_ones(store: Store) -> None:
    for owner in ("me", "other"):
        await store.tasks.beat(owner, 60_000)
    await store.tasks.update(await begun(store, "a", "b"), TaskState.COMPLETED)
    [first, second] = await store.outbox.left("me")
    assert await store.outbox.left_of_task("t", "me") == [first, second]
    assert await store.outbox.take(first, "other")
    assert await store.outbox.left("me") == await store.outbox.left_of_task("t", "me") == [second]
    await store.tasks.retire("me")
    assert await store.outbox.left("me") == [second], "once"


async def test_a_place_that_comes_late_is_noted_with_the_place(store: Store) -> None:
    place = StoredPushConfig("t", "late", "https://example.com/")
    task = await begun(store, "a")
    await store.push_configs.put(place, poster="one")
    assert await named(store) == [], "nothing has happened yet"
    await store.push_configs.delete("t", "late")
    await store.tasks.update(task, TaskState.COMPLETED)
    await store.outbox.settle("t", "a", 2)
    await store.push_configs.put(place, poster="one")
    [item] = await store.outbox.waiting()
    assert (item.config_id, item.version, item.poster, item.tries) == ("late", 2, "one", 0)


async def test_it_goes_with_the_session_and_is_nobody_elses(store: Store) -> None:
    await store.tasks.update(await begun(store, "a"), TaskState.COMPLETED)
    assert await store.for_tenant(f"{store.tenant}-other").outbox.waiting() == []
    assert await store.for_tenant(f"{store.tenant}-other").outbox.left_of_task("t", "me") == []
    await store.deletion.delete("s")
    assert await store.outbox.waiting() == []


async def test_places_that_are_noted_and_settled_at_once_are_one_row_each_with_the_newest(store: Store) -> None:
    task = await begun(store, "a", "b")
    late = StoredPushConfig("t", "late", "https://example.com/")
    for _ in range(10):
        change = asyncio.create_task(store.tasks.update(task, TaskState.WORKING))
        await asyncio.gather(
            change,
            store.push_configs.put(late, poster="one"),
            store.push_configs.put(late, poster="two"),
            *(store.outbox.settle("t", place, task.version) for place in ("a", "b", "late")),
        )
        task = change.result()
        assert await named(store) == [("t", place, task.version) for place in ("a", "b", "late")]


async def waits_for(other: "psycopg.Connection[Any]") -> None:
    """Return once somebody waits for what this connection has begun."""
    async with asyncio.timeout(20):
        while other.execute(WAITS).fetchone() != (True,):
            await asyncio.sleep(0.01)


async def test_a_place_that_another_notes_at_the_same_time_is_one_row(postgres_url: str) -> None:
    async with await open_store(postgres_url) as store:
        task = await begun(store, "a")
        with psycopg.connect(postgres_url) as other:
            other.execute(NOTED)
            change = asyncio.create_task(store.tasks.update(task, TaskState.WORKING))
            await waits_for(other)
        await change
        [item] = await store.outbox.waiting()
        assert (item.version, item.poster, item.tries) == (2, "me", 0)


async def test_a_place_that_another_settles_at_the_same_time_is_noted(postgres_url: str) -> None:
    async with await open_store(postgres_url) as store:
        task = await store.tasks.update(await begun(store, "a"), TaskState.WORKING)
        with psycopg.connect(postgres_url) as other:
            other.execute(SETTLED)
            change = asyncio.create_task(store.tasks.update(task, TaskState.COMPLETED))
            await waits_for(other)
        await change
        assert await named(store) == [("t", "a", 3)]
