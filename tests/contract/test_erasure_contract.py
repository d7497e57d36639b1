"""The contract of erasure, on both engines."""

import asyncio
import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.following import take
from tests.support.interrupted import Twice
from tests.support.material import numbered, said
from tests.support.steps import Meanwhile, make_rich, rows, verified
from tests.support.tuned import SHORT

from holdfast.core import TaskState
from holdfast.core.errors import IdempotencyConflict, InvalidInput, LegalHold, NotFound, SessionGone
from holdfast.store import NewEvent, Store, StoreTuning, open_store
from holdfast.store.lifecycle.erasure import Erasure

pytestmark = pytest.mark.tuned(step_events=SHORT)

SECRET = "cormorantine"


def with_meanwhile(store: Store, happens: Any, at: int | None = None) -> Erasure:
    return replace(store.erasure, workers=Meanwhile(store.erasure.workers, happens, at))


async def seq_of(store: Store, session_id: str, type_: str) -> int:
    """The last event of a type."""
    return [event.seq for event in await store.read(session_id) if event.type == type_][-1]


async def test_what_was_said_is_gone_and_the_chain_is_whole(store: Store) -> None:
    await store.append("s", [*numbered(1, 2), NewEvent("t", {"say": SECRET}), *numbered(4)])
    before, size = await store.read("s"), (await store.sessions.get("s")).size_bytes
    done = await store.erasure.erase("s", [3, 3], reason="asked")
    assert (done.session_id, done.seqs, done.copies, done.archived_copies) == ("s", (3,), (), ())
    after = await store.read("s")
    assert [event.hash for event in after[:4]] == [event.hash for event in before]
    assert (after[2].payload, after[2].value()) == (b"", None)
    assert after[2].erased == hashlib.sha256(before[2].payload).digest()
    assert (after[4].type, after[4].value()) == ("holdfast.events_erased", {"seqs": [3], "reason": "asked"})
    expected = size - len(before[2].payload) + len(after[4].payload)
    assert (await store.sessions.get("s")).size_bytes == expected
    assert (await store.search.find(SECRET)).hits == ()
    await store.append("s", numbered(6))
    await verified(store, "s")


async def test_a_retry_of_what_was_erased_is_still_a_replay(store: Store) -> None:
    await store.append("s", [NewEvent("t", {"say": SECRET}, idempotency_key="k")])
    await store.erasure.erase("s", [1], reason="asked")
    done = await store.append("s", [NewEvent("t", {"say": SECRET}, idempotency_key="k")])
    assert (done.seqs, done.replayed) == ((1,), 1)
    with pytest.raises(IdempotencyConflict):
        await store.append("s", [NewEvent("other", {}, idempotency_key="k")])
    assert (await store.read("s"))[0].payload == b""


async def test_erasing_again_changes_nothing(store: Store) -> None:
    await store.append("s", numbered(1, 2, 3))
    await store.erasure.erase("s", [2], reason="asked")
    before = await store.read("s")
    await store.erasure.erase("s", [2], reason="again")
    assert await store.read("s") == before
    await store.erasure.erase("s", [2, 3], reason="more")
    assert (await store.read("s"))[-1].type == "holdfast.events_erased"
    await verified(store, "s")


async def test_an_erasure_that_is_run_again_happens_once(store: Store) -> None:
    await make_rich(store, "s")
    await store.forks.fork("s", new_session_id="f")
    await replace(store.erasure, workers=Twice(store.erasure.workers)).erase("s", [2, 6], reason="r", everywhere=True)
    for session_id in ("s", "f"):
        events = await store.read(session_id)
        assert [event.type for event in events].count("holdfast.events_erased") == 1
    await verified(store, "s", "f")


async def test_every_event_of_a_rich_session_can_be_erased(store: Store) -> None:
    """One by one, so that whatever follows from each is derived without it; in a fork from its beginning backwards."""
    await make_rich(store, "s")
    await store.forks.fork("s", new_session_id="f")
    for session_id in ("s", "f"):
        head = (await store.sessions.get(session_id)).head_seq
        for seq in range(1, head + 1) if session_id == "s" else range(head, 0, -1):
            await store.erasure.erase(session_id, [seq], reason="all")
            problem = (await store.verification.session(session_id)).problem
            assert problem is None, (session_id, seq, problem)
        await store.resume(session_id)
    session = await store.sessions.get("s")
    assert (session.metadata, session.tags, session.user_id) == ({}, (), None)
    assert await store.goals.list("s") == []
    assert (await store.state.get("s")).document == {}
    assert (await store.state.get("s")).version == 2


async def test_rows_are_derived_again_without_it(store: Store) -> None:
    await store.sessions.create("s", metadata={"a": 1})
    await store.sessions.patch_metadata("s", {"name": SECRET})
    await store.state.patch("s", {"kept": 1})
    await store.state.patch("s", {"name": SECRET})
    await store.goals.add("s", SECRET, goal_id="g1")
    await store.goals.add("s", "other", goal_id="g2")
    begun = await store.tasks.begin("s", "t", "ctx", said("hi", "t"), owner="o")
    task = await store.tasks.update(begun.task, TaskState.WORKING, {"kept": 1})
    await store.tasks.update(task, TaskState.COMPLETED, {"name": SECRET})
    secret = [event.seq for event in await store.read("s") if SECRET.encode() in event.payload]
    assert len(secret) == 4
    await store.erasure.erase("s", secret, reason="asked")
    assert (await store.sessions.get("s")).metadata == {"a": 1}
    state = await store.state.get("s")
    assert (state.document, state.version) == ({"kept": 1}, 2)
    assert [goal.goal_id for goal in await store.goals.list("s")] == ["g2"]
    assert (await store.tasks.get("t")).document == {"kept": 1}
    await verified(store, "s")


async def test_another_erasure_meanwhile_does_not_bring_back_what_it_erased(store: Store) -> None:
    """The rows are derived before the write: another erasure in between makes them know too much."""
    await store.sessions.create("s")
    await store.state.patch("s", {"one": SECRET})
    await store.state.patch("s", {"two": SECRET})

    async def other() -> None:
        await store.erasure.erase("s", [2], reason="first")

    await with_meanwhile(store, other, at=1).erase("s", [3], reason="second")
    assert (await store.state.get("s")).document == {}
    await verified(store, "s")


async def test_what_is_written_meanwhile_is_in_the_rows(store: Store) -> None:
    await store.sessions.create("s")
    await store.state.patch("s", {"one": SECRET})

    async def other() -> None:
        await store.state.patch("s", {"two": 2})

    await with_meanwhile(store, other, at=0).erase("s", [2], reason="r")
    assert (await store.state.get("s")).document == {"two": 2}
    await verified(store, "s")


async def make_copies(store: Store) -> None:
    """A secret at seq 3 of a session, a fork, a fork of that, a fork before it, and a deleted fork."""
    await store.append("s", [*numbered(1, 2), NewEvent("t", {"say": SECRET}), *numbered(*range(30))])
    await store.forks.fork("s", new_session_id="f")
    await store.forks.fork("f", new_session_id="ff")
    await store.forks.fork("s", at=2, new_session_id="early")
    await store.forks.fork("s", new_session_id="gone")
    await store.deletion.delete("gone")


async def test_copies_are_named(store: Store) -> None:
    await make_copies(store)
    done = await store.erasure.erase("s", [3, 4], reason="asked")
    assert (done.copies, done.archived_copies) == (("f", "ff"), ("gone",))
    assert (await store.read("f"))[2].erased is None
    done = await store.erasure.erase("s", [3, 4], reason="asked", everywhere=True)
    assert (done.copies, done.archived_copies) == ((), ())
    for session_id in ("s", "f", "ff"):
        events = await store.read(session_id)
        assert [event.seq for event in events if event.erased] == [3, 4]
        assert events[-1].type == "holdfast.events_erased"
    archived = [event async for event in store.archives.events("gone")]
    assert [event.seq for event in archived if event.erased] == [3, 4]
    assert (await store.sessions.get("early")).head_seq == 3
    assert (await store.search.find(SECRET)).hits == ()
    await verified(store, "s", "f", "ff", "early")


async def test_a_copy_on_its_way_to_the_archive_is_erased_too(store: Store) -> None:
    await store.append("s", numbered(*range(40)))
    await store.forks.fork("s", new_session_id="f")
    named: list[tuple[str, ...]] = []

    async def erase() -> None:
        done = await store.erasure.erase("s", [1, 39], reason="asked")
        named.append(done.archived_copies)
        await store.erasure.erase("s", [1, 39], reason="asked", everywhere=True)

    deleting = replace(store.deletion, workers=Meanwhile(store.deletion.workers, erase, 3))
    await deleting.delete("f")
    assert named == [("f",)]
    assert [event.seq async for event in store.archives.events("f") if event.erased] == [1, 39]
    await verified(store, "s")


async def test_a_fork_shown_meanwhile_is_a_copy_too(store: Store) -> None:
    await store.append("s", numbered(*range(20)))

    async def fork() -> None:
        await store.forks.fork("s", new_session_id="f")

    await with_meanwhile(store, fork, at=0).erase("s", [3], reason="r", everywhere=True)
    assert (await store.read("f"))[2].erased
    await verified(store, "s", "f")


async def test_another_event_that_has_the_same_id_is_no_copy(store: Store) -> None:
    """Ids may be chosen by whoever writes."""
    await store.append("s", [NewEvent("t", {"say": SECRET}, event_id="e1")])
    await store.append("other", [*numbered(1), NewEvent("t", {"say": "mine"}, event_id="e1")])
    await store.append("gone", [*numbered(1, 2), NewEvent("t", {"say": "mine"}, event_id="e1")])
    await store.deletion.delete("gone")
    done = await store.erasure.erase("s", [1], reason="r", everywhere=True)
    assert (done.copies, done.archived_copies) == ((), ())
    assert (await store.read("other"))[1].value() == {"say": "mine"}
    assert [event.value() async for event in store.archives.events("gone")][2] == {"say": "mine"}


async def test_a_hold_refuses(store: Store) -> None:
    await make_copies(store)
    await store.sessions.hold("f", True)
    with pytest.raises(LegalHold):
        await store.erasure.erase("s", [3], reason="r", everywhere=True)
    assert (await store.read("s"))[2].erased is None, "nothing was erased"
    with pytest.raises(LegalHold):
        await store.erasure.erase("f", [3], reason="r")
    await store.erasure.erase("s", [3], reason="r")
    assert (await store.read("f"))[2].value() == {"say": SECRET}


@pytest.mark.parametrize("seqs", [[], [0], [-1], [6], ["1"], [1, "2"], [None], range(1, 502)])
async def test_seqs_that_are_none_are_refused(store: Store, seqs: Any) -> None:
    await store.append("s", numbered(*range(5)))
    with pytest.raises(InvalidInput):
        await store.erasure.erase("s", seqs, reason="r")
    assert len(await store.read("s")) == 5


async def test_unknown_and_deleted_sessions(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.erasure.erase("nobody", [1], reason="r")
    await store.append("s", numbered(1))
    await store.deletion.delete("s")
    with pytest.raises(SessionGone):
        await store.erasure.erase("s", [1], reason="r")


async def test_followers_that_come_later_do_not_get_it_from_memory(store: Store) -> None:
    await store.append("s", numbered(1))
    start = await store.feed.now()
    feed, whole = store.feed.session("s"), store.feed.everything(start)
    hub = store.feed.hubs.here()
    first, wide = asyncio.create_task(take_open(feed, 4)), asyncio.create_task(take_open(whole, 3))
    async with asyncio.timeout(30):
        await asyncio.sleep(0)
        await hub.ready()
        await store.append("s", [NewEvent("t", {"say": SECRET})])
        while not hub._ring:  # it may begin after `start`, if a chore has committed in between
            await asyncio.sleep(0.01)
    await store.erasure.erase("s", [2], reason="r")
    await store.append("s", numbered(4))
    await first
    await wide
    late = await take(store.feed.session("s", after=1), 3)
    assert late[0].payload == b""
    again = await take(store.feed.everything(start), 3)
    assert again[0].event.payload == b""
    await feed.aclose()
    await whole.aclose()


async def take_open(feed: Any, count: int) -> list[Any]:
    """The next items of a feed that stays open."""
    return [await anext(feed) for _ in range(count)]


async def test_the_bytes_are_gone_from_the_files(sqlite_url: str) -> None:
    """Searched for as UTF-8, in the file and the log, once an idle store has scrubbed the index."""
    folder = Path(sqlite_url.removeprefix("sqlite:///")).parent
    async with await open_store(sqlite_url, tuning=StoreTuning(step_events=SHORT)) as store:
        await store.append("s", [NewEvent("t", {"n": n, "text": f"filler{n} " * 20}) for n in range(300)])
        await store.sessions.create("s", metadata={"name": SECRET})
        await store.append("s", [NewEvent("t", {"say": f"{SECRET} and more", "n": n}) for n in range(5)])
        await store.state.patch("s", {"deep": {"name": SECRET}})
        await store.forks.fork("s", new_session_id="f")
        await store.forks.fork("s", new_session_id="gone")
        await store.search.find(SECRET)
        await store.deletion.delete("gone")
        assert has(folder), "or the test proves nothing"
        secret = [event.seq for event in await store.read("s") if SECRET.encode() in event.payload]
        await store.erasure.erase("s", secret, reason="asked", everywhere=True)
        async with asyncio.timeout(60):
            while await rows(store, "SELECT 1 FROM search_progress WHERE name = 'event_text'") or has(folder):
                await asyncio.sleep(0.02)
        assert (await store.search.find(SECRET)).hits == ()
        await verified(store, "s", "f")
    assert not has(folder)


def has(folder: Path, text: str = SECRET) -> list[str]:
    """Which of the files have the text; read by another process, since closing a file drops this one's locks."""
    found = subprocess.run(["grep", "-rlaF", text, folder], capture_output=True, text=True, check=False)
    return [Path(line).name for line in found.stdout.splitlines()]


async def test_a_purged_archive_leaves_no_bytes_in_the_files(sqlite_url: str) -> None:
    folder = Path(sqlite_url.removeprefix("sqlite:///")).parent
    async with await open_store(sqlite_url, tuning=StoreTuning(step_events=SHORT)) as store:
        await store.append("s", [NewEvent("t", {"say": f"{SECRET}-{n}"}) for n in range(100)])
        await store.append("other", [NewEvent("t", {"say": f"filler{n}"}) for n in range(100)])
        await store.search.find(SECRET)
        await store.deletion.delete("s")
        assert has(folder)
        await store.archives.purge("s")
        async with asyncio.timeout(60):
            while has(folder):
                await asyncio.sleep(0.02)
