"""A retry of a keyed write is told the first result, however long the log has become, and looks at little of it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.support.changes import assert_verified
from tests.support.database_work import looked_at
from tests.support.long_session import lengthen

from holdfast.core import Task, TaskState
from holdfast.store import NewEvent, Store, open_store

PATCHES = 300
MOST = {"sqlite": 10_000, "postgresql": 1_000}
"""Steps of SQLite's machine, or rows of PostgreSQL, for one retry: a hundred and twenty patches at most."""

Write = Callable[[Store], Awaitable[Any]]


def message(key: str) -> NewEvent:
    return NewEvent("message", {"role": "user", "parts": [{"text": "hello"}], "taskId": "t"}, idempotency_key=key)


async def task(store: Store) -> Task:
    return await store.tasks.get("t")


async def attach(store: Store) -> Any:
    kept = await store.attachments.put(b"bytes")
    return await store.attachments.attach("s", kept.digest, name="a", media_type="text/plain", idempotency_key="attach")


async def go_on(store: Store) -> Any:
    return await store.tasks.go_on(await task(store), message("go on"), owner="me", idempotency_key="resumed")


async def update(store: Store) -> Any:
    return await store.tasks.update(await task(store), TaskState.INPUT_REQUIRED, idempotency_key="asked")


WRITES: dict[str, Write] = {
    "create": lambda s: s.sessions.create("s", user_id="ada", metadata={"a": 1}),
    "append": lambda s: s.append("s", [NewEvent("a", {"n": 1}, idempotency_key="append")]),
    "append by id": lambda s: s.append("s", [NewEvent("a", {"n": 1}, event_id="chosen")]),
    "batch": lambda s: s.append("s", [NewEvent("a", {"n": n}, idempotency_key=f"batch-{n}") for n in range(50)]),
    "response": lambda s: s.append("s", [NewEvent("holdfast.response", {"text": "a"}, idempotency_key="response")]),
    "metadata": lambda s: s.sessions.patch_metadata("s", {"b": 2}, idempotency_key="metadata"),
    "tags": lambda s: s.sessions.tag("s", add=["t"], idempotency_key="tags"),
    "goal": lambda s: s.goals.add("s", "land", goal_id="g", idempotency_key="goal"),
    "goal change": lambda s: s.goals.update("s", "g", {"status": "completed"}, idempotency_key="goal change"),
    "agent": lambda s: s.agents.spawn("s", "pilot", agent_id="a", idempotency_key="agent"),
    "agent end": lambda s: s.agents.complete("s", "a", result=1, idempotency_key="agent end"),
    "checkpoint": lambda s: s.checkpoints.create("s", "here", idempotency_key="checkpoint"),
    "snapshot": lambda s: s.checkpoints.save_snapshot("s", {"sum": 1}, idempotency_key="snapshot"),
    "compaction": lambda s: s.checkpoints.compact("s", "so far", last_seq=5, idempotency_key="compaction"),
    "usage": lambda s: s.usage.record("s", "m", input_tokens=1, output_tokens=1, idempotency_key="usage"),
    "effect": lambda s: s.effects.start("s", "call", "tool", {}, idempotency_key="effect"),
    "effect end": lambda s: s.effects.finish("s", "call", result=1),
    "attachment": attach,
    "turn": lambda s: s.tasks.begin("s", "t", "c", message("turn"), owner="me"),
    "question": update,
    "answer": go_on,
    "memory": lambda s: s.memories.put("n", "k", {"v": 1}, idempotency_key="memory"),
    "finalize": lambda s: s.sessions.finalize("s", "completed", outcome=1, idempotency_key="finalize"),
}


def patch(store: Store, number: int) -> Awaitable[Any]:
    changes = {f"m{number % 7}": {"n": number, "deep": {"x": number % 3 or None}}, f"gone{number}": None}
    return store.state.patch("s", changes, idempotency_key=f"patch-{number}")


async def patches(store: Store, first: int, last: int) -> list[Any]:
    return [await patch(store, number) for number in range(first, last)]


@pytest.mark.long(seconds=25)
async def test_at_a_million_events_no_retry_of_any_keyed_write_reads_the_log(store_url: str) -> None:
    async with await open_store(store_url) as store:
        told = await patches(store, 0, PATCHES)
        for write in WRITES.values():
            await write(store)
    await asyncio.to_thread(lengthen, store_url, "s", 1_000_000)
    async with await open_store(store_url) as store:
        told += await patches(store, PATCHES, 2 * PATCHES)
        head = (await store.sessions.get("s")).head_seq
        assert head > 1_000_000
    costs = {name: await looked_at(store_url, write) for name, write in WRITES.items()}
    for number in (0, 1, PATCHES - 1, PATCHES, PATCHES + 119, 2 * PATCHES - 1):

        async def again(store: Store, number: int = number) -> None:
            assert await patch(store, number) == told[number]

        costs[f"patch {number}"] = await looked_at(store_url, again)
    most = MOST[store_url.partition(":")[0]]
    assert {name: cost for name, cost in costs.items() if cost > most} == {}
    async with await open_store(store_url) as store:
        assert (await store.sessions.get("s")).head_seq == head, "a retry wrote something"


async def test_every_patch_is_told_its_first_result(store: Store) -> None:
    told = await patches(store, 0, PATCHES)
    for number in (0, 1, 119, 120, 121, 122, 250, PATCHES - 1):
        assert await patch(store, number) == told[number]
    assert (await store.state.get("s")).version == PATCHES
    await assert_verified(store, "s")
