"""Lists are bounded by bytes as well as by number, and what stands in them has a limit."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.support.changes import assert_verified
from tests.support.read_costs import Counting

from holdfast.a2a.protocol.wire import ListRequest
from holdfast.a2a.turns.task_lists import TaskLists
from holdfast.core import TaskState, strict_json
from holdfast.core.errors import TooLarge
from holdfast.store import Filter, NewEvent, Store
from holdfast.store.engine import Tx
from holdfast.store.log.log_reader import PAGE_BYTES
from holdfast.store.memory.memories import MAX_VALUE
from holdfast.store.sessions.agents import MAX_REPORT
from holdfast.store.sessions.checkpoints import MAX_LABEL
from holdfast.store.sessions.goals import MAX_DESCRIPTION
from holdfast.store.sessions.sessions import MAX_FINAL, MAX_INITIAL, MAX_METADATA, MAX_TAGS, page

LARGE = PAGE_BYTES * 3 // 5


async def put_metadata(store: Store, session_id: str, size: int) -> None:
    """A session with as much metadata as it could have once."""
    await store.append(session_id, [NewEvent("note", {})])
    document = strict_json.dump({"metadata": {"text": "x" * size}})
    await store.sessions.workers.write(
        lambda tx: tx.run("UPDATE sessions SET document = ?2 WHERE session_id = ?1", session_id, document), ("tests",)
    )


@pytest.mark.own_store
async def test_a_list_of_sessions_ends_early_and_misses_none(store: Store) -> None:
    sizes = [LARGE, LARGE, 10, LARGE, 10, 10, 2 * PAGE_BYTES, 10]
    for number, size in enumerate(sizes):
        await put_metadata(store, f"s{number}", size)
    pages, cursor = [], None
    while True:
        found = await store.sessions.list(cursor=cursor, limit=4)
        pages.append([session.session_id for session in found.sessions])
        cursor = found.cursor
        if cursor is None:
            break
    assert pages == [["s7"], ["s6"], ["s5", "s4", "s3", "s2"], ["s1"], ["s0"]]

    def read(tx: Tx) -> int:
        counting = Counting(tx)
        page(counting, store.tenant, Filter())  # type: ignore[arg-type]
        return counting.size

    assert await store.sessions.workers.read(read) < PAGE_BYTES, "no more is read than shown"
    await store.state.workers.write(lambda tx: tx.run("UPDATE sessions SET document = ?1", b"{}"), ("tests",))
    await assert_verified(store, "s7")


async def test_a_page_of_memories_ends_early(store: Store) -> None:
    fits = PAGE_BYTES // MAX_VALUE
    for number in range(fits + 3):
        await store.memories.put("n", f"k{number:02}", "x" * (MAX_VALUE - 2))
    first = await store.memories.list("n")
    assert (len(first.memories), first.cursor) == (fits, f"k{fits - 1:02}")
    second = await store.memories.list("n", cursor=first.cursor)
    assert ([memory.key for memory in second.memories], second.cursor) == ([f"k{fits + n:02}" for n in range(3)], None)


async def test_a_page_of_tasks_ends_early(store: Store) -> None:
    for number in range(3):
        begun = await store.tasks.begin("s", f"t{number}", "c", NewEvent("message", {"parts": []}), owner="me")
        await store.tasks.update(begun.task, TaskState.COMPLETED, {"artifact-000000": {"text": "x" * LARGE}})
    first = await store.tasks.find("main")
    assert ([task.task_id for task in first.tasks], first.more, first.total) == (["t2"], True, 3)
    last = first.tasks[-1]
    second = await store.tasks.find("main", before=(last.updated_at, last.task_id), limit=1)
    assert ([task.task_id for task in second.tasks], second.more) == (["t1"], True)


async def test_a_page_of_tasks_ends_early_for_their_messages_too(store: Store) -> None:
    for number in range(3):
        said = {"role": "user", "taskId": f"t{number}", "messageId": "m", "parts": [{"text": "x" * LARGE}]}
        begun = await store.tasks.begin("s", f"t{number}", "c", NewEvent("message", said), owner="me")
        seq = (await store.sessions.get("s")).head_seq - 1
        await store.tasks.update(begun.task, TaskState.COMPLETED, {"messageSeq": seq, "lastSeq": seq})
    lists = TaskLists(store, "main")
    pages = [await lists.page(ListRequest(history_length=5))]
    while pages[-1].next_page_token:
        pages.append(await lists.page(ListRequest(history_length=5, page_token=pages[-1].next_page_token)))
    assert [[view.task_id for view in found.tasks] for found in pages] == [["t2"], ["t1"], ["t0"]]
    assert len(pages[0].tasks[0].history) == 1
    assert len((await lists.page(ListRequest())).tasks) == 3, "without their messages they are small"


async def test_a_list_of_archives_reads_no_documents(store: Store) -> None:
    for number in range(3):
        await put_metadata(store, f"s{number}", LARGE)
        await store.deletion.delete(f"s{number}")
    assert [each.session_id for each in await store.archives.list()] == ["s0", "s1", "s2"]
    assert len((await store.archives.about("s1"))["metadata"]["text"]) == LARGE


def text(size: int) -> str:
    """Text of so many bytes as JSON."""
    return "x" * (size - 2)


LIMITED: dict[str, tuple[int, Callable[[Store, int], Awaitable[Any]]]] = {
    "metadata": (MAX_METADATA, lambda s, size: s.sessions.create("new", metadata={"a": text(size - 6)})),
    "patched metadata": (MAX_METADATA, lambda s, size: s.sessions.patch_metadata("s", {"a": text(size - 6)})),
    "initial": (MAX_INITIAL, lambda s, size: s.sessions.create("new", initial=text(size))),
    "final": (
        MAX_FINAL,
        lambda s, size: s.sessions.finalize("s", "completed", response=text(size - len("[null,]"))),
    ),
    "tags": (MAX_TAGS, lambda s, size: s.sessions.tag("s", add=[f"t{n}" for n in range(size)])),
    "goal": (MAX_DESCRIPTION, lambda s, size: s.goals.add("s", text(size))),
    "goal change": (MAX_DESCRIPTION, lambda s, size: s.goals.update("s", "g", {"description": text(size)})),
    "agent's task": (MAX_REPORT, lambda s, size: s.agents.spawn("s", "pilot", text(size))),
    "agent's result": (MAX_REPORT, lambda s, size: s.agents.complete("s", "a", result=text(size))),
    "checkpoint": (MAX_LABEL, lambda s, size: s.checkpoints.create("s", text(size))),
}


@pytest.mark.parametrize("name", LIMITED)
async def test_what_stands_in_lists_has_a_limit(store: Store, name: str) -> None:
    await store.goals.add("s", "land", goal_id="g")
    await store.agents.spawn("s", "pilot", agent_id="a")
    limit, write = LIMITED[name]
    before = (await store.sessions.get("s")).head_seq
    with pytest.raises(TooLarge) as refused:
        await write(store, limit + 1)
    assert refused.value.details["limit"] == limit
    assert refused.value.hint
    assert (await store.sessions.get("s")).head_seq == before, "something was written"
    await write(store, limit)
    await assert_verified(store, "s")


async def test_metadata_that_is_larger_already_is_read_and_can_only_shrink(store: Store) -> None:
    await put_metadata(store, "s", 3 * MAX_METADATA)
    assert len((await store.sessions.get("s")).metadata["text"]) == 3 * MAX_METADATA
    with pytest.raises(TooLarge):
        await store.sessions.patch_metadata("s", {"more": 1})
    await store.sessions.tag("s", add=["kept"])
    smaller = await store.sessions.patch_metadata("s", {"text": "x" * (2 * MAX_METADATA)})
    assert len(smaller.metadata["text"]) == 2 * MAX_METADATA
    assert (await store.sessions.patch_metadata("s", {"text": "short"})).metadata == {"text": "short"}
