"""Promise 9: delete archives first."""

import asyncio
from collections.abc import Awaitable

import pytest
from tests.support.following import take
from tests.support.material import numbered, said
from tests.support.steps import verified, where
from tests.support.tuned import SHORT

from holdfast.core import Lease, TaskState
from holdfast.core.errors import SessionGone
from holdfast.store import Store, open_store

pytestmark = pytest.mark.tuned(step_events=SHORT)


def everything_on(store: Store, session_id: str, digest: str) -> list[Awaitable[object]]:
    """Every operation that names a session."""
    lease = Lease(session_id, "w", 1, 2**62)
    return [
        store.append(session_id, numbered(1)),
        store.append(session_id, numbered(1), create=False),
        store.append(session_id, numbered(1), expected_seq=0),
        store.append(session_id, numbered(1), lease=lease),
        store.read(session_id),
        store.newest(session_id),
        store.resume(session_id),
        store.sessions.create(session_id),
        store.sessions.get(session_id),
        store.sessions.patch_metadata(session_id, {"a": 1}),
        store.sessions.tag(session_id, add=["t"]),
        store.sessions.finalize(session_id),
        store.sessions.hold(session_id, True),
        store.state.get(session_id),
        store.state.patch(session_id, {"a": 1}),
        store.goals.add(session_id, "g"),
        store.goals.update(session_id, "g1", {"status": "completed"}),
        store.goals.list(session_id),
        store.agents.spawn(session_id, "t"),
        store.agents.complete(session_id, "a1"),
        store.agents.list(session_id),
        store.effects.start(session_id, "c9", "tool"),
        store.effects.finish(session_id, "c9"),
        store.effects.unresolved(session_id),
        store.checkpoints.create(session_id),
        store.checkpoints.list(session_id),
        store.checkpoints.save_snapshot(session_id, {}),
        store.checkpoints.compact(session_id, "s", last_seq=1),
        store.usage.record(session_id, "m", input_tokens=1, output_tokens=1),
        store.usage.session(session_id),
        store.attachments.attach(session_id, digest, name="f", media_type="text/plain"),
        store.attachments.of_session(session_id),
        store.leases.acquire(session_id, "w", 1_000),
        store.tasks.begin(session_id, "t9", "ctx", said("hi", "t9"), owner="o"),
        store.keys.resolve("another", session_id=session_id),
        store.keys.resolve("agents", session_id=session_id, agent="other"),
        store.keys.of_session(session_id),
        store.keys.reset_session(session_id),
        store.forks.fork(session_id),
        store.forks.fork("other", new_session_id=session_id),
        store.erasure.erase(session_id, [1], reason="r"),
        store.verification.session(session_id),
        store.search.find("hi", session_id=session_id),
        take(store.feed.session(session_id), 1),
        store.deletion.delete(session_id),
    ]


async def test_a_deleted_session_is_gone_for_every_operation_and_never_comes_back(store: Store, store_url: str) -> None:
    await store.append("other", numbered(1))
    await store.append("s", numbered(*range(20)))
    digest = (await store.attachments.put(b"bytes")).digest
    begun = await store.tasks.begin("s", "t", "ctx", said("hi", "t"), owner="o")
    done = await store.deletion.delete("s")

    async def refused(opened: Store) -> None:
        for operation in everything_on(opened, "s", digest):
            with pytest.raises(SessionGone):
                await operation
        with pytest.raises(SessionGone):
            await opened.tasks.update(begun.task, TaskState.COMPLETED)
        assert [s.session_id for s in (await opened.sessions.list()).sessions] == ["other"]

    await refused(store)
    await store.archives.purge("s")
    await refused(store)
    assert await where(store, done.session_no) == ([22 + 1], [])
    async with await open_store(store_url) as again:
        await refused(again)


async def test_its_keys_are_free_at_once(store: Store) -> None:
    await store.keys.resolve("k", session_id="s")
    await store.append("s", numbered(*range(20)))
    await store.deletion.delete("s")
    entry = await store.keys.resolve("k")
    assert entry.session_id != "s"
    routes = await store.keys.routes("k")
    assert [route.session_id for route in routes] == ["s", entry.session_id]
    assert routes[0].ended_at is not None


@pytest.mark.tuned(step_events=4)  # many steps, so that somebody looks between two of them on a busy machine too
async def test_every_event_is_in_exactly_one_place_at_every_moment(store: Store) -> None:
    await store.append("s", numbered(*range(200)))
    before = await store.read("s")
    deleting = asyncio.create_task(store.deletion.delete("s"))
    seen: set[int] = set()
    while not deleting.done():
        found = await store.archives.list()
        if not found:
            continue
        log, archive = await where(store, found[0].session_no)
        assert archive + log == list(range(1, 202)), "not exactly one of each, the oldest in the archive"
        seen.add(len(archive))
    done = await deleting
    log, archive = await where(store, done.session_no)
    assert (log, archive) == ([201], list(range(1, 201)))
    assert len(seen) > 1, "nobody looked while it moved"
    assert [event async for event in store.archives.events("s")] == before
    await verified(store)


async def test_whoever_undeletes_it_has_it_back_and_nothing_else_brings_it_back(store: Store) -> None:
    entry = await store.keys.open("k")
    await store.append(entry.session_id, numbered(*range(20)))
    before = await store.read(entry.session_id)
    await store.deletion.delete(entry.session_id)
    another = await store.keys.open("k")
    assert another.session_id != entry.session_id
    with pytest.raises(SessionGone):
        await store.append(entry.session_id, numbered(1))
    done = await store.undeletion.undelete(entry.session_id)
    assert (await store.read(entry.session_id))[:20] == before
    assert (done.keys, done.keys_taken) == ((), ("k",))
    assert (await store.keys.open("k")).session_id == another.session_id, "the conversation has gone on since"
    await verified(store, entry.session_id, another.session_id)


async def test_a_deletion_by_mistake_is_undone_with_its_key(store: Store) -> None:
    entry = await store.keys.open("k")
    await store.append(entry.session_id, numbered(*range(20)))
    await store.deletion.delete(entry.session_id)
    await store.undeletion.undelete(entry.session_id)
    assert (await store.keys.open("k")).session_id == entry.session_id
    await store.append(entry.session_id, numbered(21))
    await verified(store, entry.session_id)


async def test_followers_are_told(store: Store) -> None:
    await store.append("s", numbered(*range(20)))
    start = await store.feed.now()

    followed: list[str] = []

    async def follow() -> None:
        with pytest.raises(SessionGone):
            async for event in store.feed.session("s", after=19):
                followed.append(event.type)

    following = asyncio.create_task(follow())
    everything = asyncio.create_task(take(store.feed.everything(start), 1))
    async with asyncio.timeout(30):
        while not followed:
            await asyncio.sleep(0.01)
        await store.deletion.delete("s", reason="asked")
        await following
        last = (await everything)[0]
    assert followed[0] == "number"
    assert (last.session_id, last.event.type, last.event.value()) == (
        "s",
        "holdfast.session_deleted",
        {"reason": "asked"},
    )
    late = await take(store.feed.everything(start), 1)
    assert late[0].event.type == "holdfast.session_deleted", "what was deleted is not news, only that it was"
