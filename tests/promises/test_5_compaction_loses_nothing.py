"""Promise 5: compaction loses nothing."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from tests.support.changes import assert_verified
from tests.support.processes import spawn

from holdfast.core import types
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.store import NewEvent, Store, open_store


@dataclass(frozen=True)
class Told:
    """What can be read of a session's log: every event with its bytes and its hash."""

    events: tuple[Any, ...]

    @staticmethod
    async def of(store: Store, session_id: str, upto: int) -> "Told":
        return Told(tuple(await store.read(session_id, before=upto + 1)))


async def talk(store: Store, session_id: str, turns: int) -> None:
    for number in range(turns):
        await store.append(session_id, [NewEvent("message", {"role": "user", "parts": [{"text": f"turn {number}"}]})])


async def test_the_summary_and_its_range_are_an_event_and_the_originals_stay(store: Store) -> None:
    await store.keys.resolve("key", session_id="s")
    await talk(store, "s", 50)
    before = await Told.of(store, "s", 50)
    made = await store.checkpoints.compact("s", {"text": "fifty turns"}, first_seq=1, last_seq=40)
    assert await Told.of(store, "s", 50) == before
    (event,) = await store.read("s", types=[types.COMPACTED])
    body = event.value()
    assert (body["summary"], body["firstSeq"], body["lastSeq"]) == ({"text": "fifty turns"}, 1, 40)
    assert body["lastHash"] == before.events[39].hash.hex()
    assert (made.document, made.first_seq, made.last_seq) == ({"text": "fifty turns"}, 1, 40)
    assert (await store.search.find("turn 7")).hits
    await assert_verified(store, "s")


async def test_without_a_summary_there_is_no_compaction(store: Store) -> None:
    """The program that sums up fails, or is cut off: nothing is written, and the session goes on as it was."""
    await talk(store, "s", 5)
    head = await store.sessions.get("s")
    nothing: list[Any] = [None, "", "  ", {}, []]
    for summary in nothing:
        with pytest.raises(InvalidInput):
            await store.checkpoints.compact("s", summary, last_seq=5)

    async def sum_up() -> str:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await store.checkpoints.compact("s", await sum_up(), last_seq=5)
    assert await store.sessions.get("s") == head
    assert await store.checkpoints.list("s") == []
    assert (await store.resume("s")).snapshot is None


async def test_summary_and_checkpoint_come_together_or_not_at_all(store: Store) -> None:
    await talk(store, "s", 5)
    await asyncio.gather(*(store.checkpoints.compact("s", f"sum {n}", last_seq=5) for n in range(5)))
    kinds = [event.type for event in await store.read("s", after=5)]
    assert kinds == [types.COMPACTED, types.CHECKPOINT_CREATED] * 5
    for found in await store.checkpoints.list("s"):
        follows = (await store.read("s", after=found.seq, limit=1))[0]
        assert follows.value()["checkpointId"] == found.checkpoint_id


async def test_a_checkpoint_is_branched_to_a_new_key_and_the_source_is_untouched(store: Store) -> None:
    await store.keys.resolve("key", session_id="s")
    await talk(store, "s", 10)
    await store.state.patch("s", {"step": 10})
    await store.checkpoints.compact("s", "ten turns", last_seq=10)
    (checkpoint,) = await store.checkpoints.list("s")
    await talk(store, "s", 3)
    source, log = await store.sessions.get("s"), await store.read("s")
    branch = await store.forks.branch("s", checkpoint.checkpoint_id, key="experiment")
    assert branch.session_id != "s"
    assert (await store.keys.get("experiment")).session_id == branch.session_id
    assert (await store.keys.get("key")).session_id == "s"
    assert (await store.sessions.get("s"), await store.read("s")) == (source, log)
    assert await store.read(branch.session_id, before=checkpoint.seq + 1) == log[: checkpoint.seq]
    assert (await store.state.get(branch.session_id)).document == {"step": 10}
    assert (await store.resume(branch.session_id)).snapshot is None, "the branch begins before the compaction"
    await talk(store, branch.session_id, 2)
    assert await store.read("s") == log
    await assert_verified(store, "s", branch.session_id)


async def test_a_checkpoint_is_restored_on_the_same_key_under_a_new_id(store: Store) -> None:
    await store.keys.resolve("key", session_id="s")
    await talk(store, "s", 10)
    checkpoint = await store.checkpoints.create("s", "before the mistake")
    await talk(store, "s", 5)
    log = await store.read("s")
    restored = await store.forks.restore("s", checkpoint.checkpoint_id)
    assert restored.session_id != "s"
    assert (await store.keys.get("key")).session_id == restored.session_id
    assert await store.read(restored.session_id, before=11) == log[:10]
    assert (await store.read("s"))[:16] == log, "what came after the checkpoint is still there"
    assert (await store.sessions.get("s")).lineage["nextSession"] == restored.session_id
    assert [route.session_id for route in await store.keys.routes("key")] == ["s", restored.session_id]
    await assert_verified(store, "s", restored.session_id)


async def test_the_newest_twenty_five_checkpoints_are_kept_and_every_event(store: Store) -> None:
    await talk(store, "s", 2)
    for number in range(30):
        await store.checkpoints.compact("s", f"sum {number}", last_seq=2, name=f"c{number}")
    kept = await store.checkpoints.list("s")
    assert [checkpoint.name for checkpoint in kept] == [f"c{number}" for number in range(5, 30)]
    summaries = [event.value()["summary"] for event in await store.read("s", types=[types.COMPACTED])]
    assert summaries == [f"sum {number}" for number in range(30)]
    gone = (await store.read("s", types=[types.CHECKPOINT_CREATED]))[0].value()
    with pytest.raises(NotFound):
        await store.forks.branch("s", gone["checkpointId"])
    await store.forks.fork("s", at=gone["seq"], new_session_id="still-possible")
    await assert_verified(store, "s", "still-possible")


def compact_for_ever(url: str) -> None:
    """Talk and compact until killed."""

    async def run() -> None:
        async with await open_store(url) as store:
            while True:
                await talk(store, "s", 2)
                head = (await store.sessions.get("s")).head_seq
                await store.checkpoints.compact("s", f"up to {head}", last_seq=head)

    asyncio.run(run())


async def written_since(store: Store, before: int) -> bool:
    """Whether the log has grown by a few compactions."""
    found = (await store.sessions.list()).sessions
    return bool(found) and found[0].head_seq > before + 20


async def test_a_kill_while_compacting_leaves_all_or_nothing_of_it(store_url: str) -> None:
    before = 0
    for _ in range(3):
        child = spawn(compact_for_ever, store_url)
        async with await open_store(store_url) as store, asyncio.timeout(60):
            while not await written_since(store, before):
                await asyncio.sleep(0.002)
        child.kill()
        child.join()
        async with await open_store(store_url) as store:
            kinds = [event.type for event in await store.read("s")]
            assert kinds.count(types.COMPACTED) == kinds.count(types.CHECKPOINT_CREATED) > 0
            snapshot = (await store.resume("s")).snapshot
            assert snapshot is not None
            assert snapshot.document == f"up to {snapshot.last_seq}"
            await assert_verified(store, "s")
            before = len(kinds)
