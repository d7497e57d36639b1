"""The contract of imports, on both engines: whole or not at all, once, and nothing that a crafted archive says."""

import asyncio
import hashlib
import itertools
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.store.portable.sample_archives import header, log
from tests.support.following import take
from tests.support.interrupted import Twice
from tests.support.material import numbered, said
from tests.support.steps import Meanwhile, make_rich, rows, run, traces, verified
from tests.support.tuned import SHORT

from holdfast.core import Event, SystemClock, TaskState, types
from holdfast.core.chain import seal
from holdfast.core.errors import BadArchive, Conflict, SessionArriving
from holdfast.store import NewEvent, Store
from holdfast.store.engine import Tx
from holdfast.store.lifecycle import arrivals
from holdfast.store.portable import write_archive
from holdfast.store.transfer.imports import Imports

pytestmark = [pytest.mark.own_store, pytest.mark.tuned(step_events=SHORT, together_events=SHORT)]

VALUE = '{"likes":"tea"}'


def with_meanwhile(store: Store, happens: Callable[[], Awaitable[Any]], at: int | None = None) -> Imports:
    return replace(store.importing, workers=Meanwhile(store.importing.workers, happens, at))


async def exported(store: Store, path: Path) -> Path:
    """The archive of a rich session and a long one; the attachment, the memory and the key belong to the first."""
    await store.keys.resolve("k", session_id="rich")
    await make_rich(store, "rich")
    await store.append("long", numbered(*range(40)))
    await store.memories.put("facts", "name", "Mira")
    await store.exporting.archive(path)
    return path


def crafted(path: Path, sessions: Sequence[tuple[str, list[Event]]] = (), memories: Sequence[bytes] = ()) -> Path:
    """An archive whose container and hashes hold, whatever it says; it begins with a session that is good."""
    with write_archive(path) as archive:
        for session_id, events in [("a-good-one", log([b"{}"])), *sessions]:
            with archive.session(header(session_id, events)) as session:
                for event in events:
                    session.event(event)
        for memory in memories:
            archive.memory(memory)
    return path


async def nothing_is_there(store: Store) -> None:
    """Assert that a refused import has written nothing at all."""
    for table in ("sessions", "arrivals", "transcript_events", "attachments", "memories", "session_routes"):
        assert await rows(store, f"SELECT 1 FROM {table} LIMIT 1") == [], table


async def test_nobody_sees_a_session_that_is_still_arriving(store: Store, tmp_path: Path) -> None:
    path = await exported(store, tmp_path / "a")
    target = store.for_tenant("elsewhere")
    seen: set[str] = set()

    async def look() -> None:
        for name in [session.session_id for session in (await target.sessions.list()).sessions]:
            assert (await target.verification.session(name)).problem is None
            for put in await target.attachments.of_session(name):
                assert b"".join([part async for part in target.attachments.read(put.digest)]) == b"bytes"
        arriving = "SELECT session_id FROM sessions WHERE tenant = 'elsewhere' AND life = 'arriving'"
        for (name,) in await rows(store, arriving):
            for operation in (target.read(name), target.append(name, numbered(1)), target.deletion.delete(name)):
                with pytest.raises(SessionArriving):
                    await operation
            seen.add(name)

    await with_meanwhile(target, look).archive(path)
    assert seen == {"long", "rich"}
    await verified(target, "long", "rich")


async def test_an_import_whose_every_write_is_run_again_happens_once(store: Store, tmp_path: Path) -> None:
    path = await exported(store, tmp_path / "a")
    target = store.for_tenant("elsewhere")
    done = await replace(target.importing, workers=Twice(target.importing.workers)).archive(path)
    assert (done.sessions, done.keys_taken) == (["long", "rich"], [])
    for name in ("long", "rich"):
        assert await target.read(name) == await store.read(name)
    assert (await target.keys.get("k")).session_id == "rich"
    await verified(target, "long", "rich")


@pytest.mark.parametrize("at", [1, 4, 7])
async def test_a_cancelled_import_leaves_nothing_of_the_session_and_can_be_repeated(
    store: Store, tmp_path: Path, at: int
) -> None:
    """The writes are: begin, six steps, show."""
    await store.append("long", numbered(*range(40)))
    await store.exporting.archive(tmp_path / "a")
    target = store.for_tenant("elsewhere")
    reached = asyncio.Event()

    async def stop() -> None:
        reached.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(with_meanwhile(target, stop, at=at).archive(tmp_path / "a"))
    await reached.wait()
    arriving = await rows(store, "SELECT session_no FROM sessions WHERE tenant = 'elsewhere'")
    assert len(arriving) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await rows(store, "SELECT 1 FROM sessions WHERE tenant = 'elsewhere'") == []
    assert await traces(store, arriving[0][0]) == {}
    assert (await target.importing.archive(tmp_path / "a")).sessions == ["long"]
    await verified(target, "long")


@pytest.mark.parametrize("at", [3, 7])
async def test_an_import_that_pauses_too_long_is_undone_and_says_so(store: Store, tmp_path: Path, at: int) -> None:
    """Before a step, or before it is shown, a part of it was taken back."""
    await store.append("long", numbered(*range(40)))
    await store.exporting.archive(tmp_path / "a")
    target = store.for_tenant("elsewhere")

    def undone(tx: Tx) -> bool:
        tx.run("UPDATE arrivals SET expires_at = 0")
        return arrivals.undo_step(tx, store.forks.tuning)

    async def expire_and_undo_a_step() -> None:
        assert await store.forks.workers.write(undone, ())

    with pytest.raises(SessionArriving):
        await with_meanwhile(target, expire_and_undo_a_step, at=at).archive(tmp_path / "a")
    assert await rows(store, "SELECT 1 FROM sessions WHERE tenant = 'elsewhere'") == []
    assert (await target.importing.archive(tmp_path / "a")).sessions == ["long"]
    await verified(target, "long")


async def test_every_step_says_that_the_session_is_still_on_its_way(store: Store, tmp_path: Path) -> None:
    """However long all of them take, it is given up only after a pause that is longer than any step."""
    await store.append("long", numbered(*range(40)))
    await store.exporting.archive(tmp_path / "a")
    target = store.for_tenant("elsewhere")
    ends: list[int] = []

    async def age() -> None:
        """As if half of the patience went by before each step."""
        found = await rows(store, "SELECT expires_at FROM arrivals")
        ends.extend(row[0] for row in found)
        await run(store, "UPDATE arrivals SET expires_at = expires_at - ?1", store.forks.tuning.arrival_ms // 2)

    await with_meanwhile(target, age).archive(tmp_path / "a")
    assert len(ends) == 1 + 40 // SHORT + 1
    assert ends == sorted(ends), "a step did not ask for more time"


@pytest.mark.tuned(step_bytes=2_000)
async def test_a_step_is_bounded_by_its_events_and_by_its_bytes(store: Store, tmp_path: Path) -> None:
    await store.append("big", [NewEvent("t", {"text": "x" * 900, "n": n}) for n in range(12)])
    await store.append("long", numbered(*range(40)))
    await store.exporting.archive(tmp_path / "a")
    target = store.for_tenant("elsewhere")
    sizes: list[tuple[int, int]] = []
    sql = """SELECT count(*), coalesce(sum(length(e.payload)), 0) FROM transcript_events e
             JOIN sessions s ON s.session_no = e.session_no WHERE s.tenant = 'elsewhere'"""

    async def look() -> None:
        ((events, size),) = await rows(store, sql)
        sizes.append((events, size))

    await with_meanwhile(target, look).archive(tmp_path / "a")
    steps = [(more[0] - less[0], more[1] - less[1]) for less, more in itertools.pairwise(sizes)]
    assert max(events for events, _ in steps) == SHORT
    assert max(size for _, size in steps) < 4_000


async def test_what_was_imported_is_not_news_to_the_whole_store(store: Store, tmp_path: Path) -> None:
    path = await exported(store, tmp_path / "a")
    target = store.for_tenant("elsewhere")
    start = await target.feed.now()
    await target.importing.archive(path)
    await target.append("long", numbered(41))
    got = await take(target.feed.everything(start), 1)
    assert [(envelope.session_id, envelope.event.seq) for envelope in got] == [("long", 41)]


async def test_a_key_that_routes_to_another_session_here_stays_and_is_named(store: Store, tmp_path: Path) -> None:
    path = await exported(store, tmp_path / "a")
    target = store.for_tenant("elsewhere")
    await target.keys.resolve("k", session_id="mine")
    done = await target.importing.archive(path)
    assert done.keys_taken == ["k"]
    assert (await target.keys.get("k")).session_id == "mine"
    there = {route.session_id: route.ended_at for route in await target.keys.routes("k")}
    assert there["mine"] is None
    assert there["rich"] is not None, "it is on record, and ended"


async def test_a_task_that_is_another_sessions_here_refuses_and_that_session_is_left_out(
    store: Store, tmp_path: Path
) -> None:
    path = await exported(store, tmp_path / "a")
    target = store.for_tenant("elsewhere")
    begun = await target.tasks.begin("mine", "t-rich", "ctx", said("hi", "t-rich"), owner="o")
    with pytest.raises(Conflict, match="t-rich"):
        await target.importing.archive(path)
    assert (await target.tasks.get("t-rich")).session_id == "mine"
    assert [session.session_id for session in (await target.sessions.list()).sessions] == ["long", "mine"]
    assert (await target.tasks.update(begun.task, TaskState.COMPLETED)).state == TaskState.COMPLETED
    await verified(target, "long", "mine")


async def test_times_are_those_of_the_archive(store: Store, tmp_path: Path) -> None:
    """Or retention would take an old session for one that was used today."""
    await store.append("old", numbered(1))
    await run(store, "UPDATE sessions SET created_at = 1000, updated_at = 2000")
    await store.exporting.archive(tmp_path / "a")
    target = store.for_tenant("elsewhere")
    await target.importing.archive(tmp_path / "a")
    session = await target.sessions.get("old")
    assert (session.created_at, session.updated_at) == (1000, 2000)


async def test_a_shorter_log_here_is_a_conflict_and_a_longer_one_is_left_alone(store: Store, tmp_path: Path) -> None:
    await store.append("s", [NewEvent("t", {"n": 1}, event_id="e1", created_at=1_000)])
    await store.exporting.archive(tmp_path / "short")
    await store.append("s", [NewEvent("t", {"n": 2}, event_id="e2", created_at=1_000)])
    await store.exporting.archive(tmp_path / "long")
    assert (await store.importing.archive(tmp_path / "short")).there_before == ["s"]
    assert (await store.sessions.get("s")).head_seq == 2
    target = store.for_tenant("elsewhere")
    await target.importing.archive(tmp_path / "short")
    with pytest.raises(Conflict):
        await target.importing.archive(tmp_path / "long")
    other = store.for_tenant("other")
    await other.append("s", numbered(1, 2, 3))
    with pytest.raises(Conflict):
        await other.importing.archive(tmp_path / "long")
    assert [event.seq for event in await other.read("s")] == [1, 2, 3]


async def test_another_memory_under_the_same_key_is_a_conflict_before_anything_is_written(
    store: Store, tmp_path: Path
) -> None:
    path = await exported(store, tmp_path / "a")
    target = store.for_tenant("elsewhere")
    await target.memories.put("facts", "name", "Ada")
    with pytest.raises(Conflict, match="name"):
        await target.importing.archive(path)
    assert (await target.sessions.list()).sessions == []
    assert (await target.memories.get("facts", "name")).value() == "Ada"
    assert len(await target.memories.history("facts", "name")) == 1


def memory(**changes: Any) -> bytes:
    """A memory's line with one version; `first` changes that."""
    digest = hashlib.sha256(VALUE.encode()).hexdigest()
    version: dict[str, Any] = {"version": 1, "createdAt": 1, "source": None, "digest": digest, "value": VALUE}
    version |= {"erasedAt": None, **changes.pop("first", {})}
    line = {"namespace": "n", "key": "k", "live": True, "versions": [version], "keys": [["w", 1]], **changes}
    return json.dumps(line).encode()


GONE = {"value": None, "erasedAt": 2}
BIG = json.dumps("x" * 300_000)
CRAFTED: dict[str, list[bytes]] = {
    "another value": [memory(first={"value": '{"likes":"coffee"}'})],
    "no JSON": [memory(first={"value": "{", "digest": hashlib.sha256(b"{").hexdigest()})],
    "too large": [memory(first={"value": BIG, "digest": hashlib.sha256(BIG.encode()).hexdigest()})],
    "no name": [memory(key="")],
    "a NUL in its name": [memory(namespace="a\0b")],
    "a NUL in its source": [memory(first={"source": "a\0b"})],
    "no version": [memory(versions=[], keys=[])],
    "versions from 2": [memory(first={"version": 2})],
    "live though forgotten": [memory(first={"value": None, "digest": None})],
    "live though erased": [memory(first=GONE)],
    "forgotten though live": [memory(live=False)],
    "erased and still there": [memory(first={"erasedAt": 2})],
    "lost and not erased": [memory(first={"value": None}, live=False)],
    "a time that no clock says": [memory(first={"createdAt": 2**70})],
    "a digest that is none": [memory(first={**GONE, "digest": "zz"}, live=False)],
    "a key twice": [memory(keys=[["w", 1], ["w", 1]])],
    "a key of a version that is not there": [memory(keys=[["w", 2]])],
    "a key that is none": [memory(keys=[["", 1]])],
    "a member more": [memory(more=1)],
    "twice": [memory(), memory(first={"createdAt": 2})],
    "out of order": [memory(key="b"), memory(key="a")],
}


async def test_a_crafted_memory_is_refused_and_nothing_is_written(store: Store, tmp_path: Path) -> None:
    for name, lines in CRAFTED.items():
        with pytest.raises(BadArchive):
            await store.importing.archive(crafted(tmp_path / name, memories=lines))
        await nothing_is_there(store)
    good = [memory(), memory(key="l", first=GONE, live=False)]
    assert (await store.importing.archive(crafted(tmp_path / "good", memories=good))).memories == 2
    assert (await store.memories.get("n", "k")).payload == VALUE.encode()


def attached(digest: str) -> bytes:
    return json.dumps({"digest": digest, "size": 1, "name": "f", "mediaType": "text/plain"}).encode()


async def test_a_session_whose_attachment_is_not_in_the_archive_is_refused(store: Store, tmp_path: Path) -> None:
    """It could never be exported again, nor anything with it."""
    for number, digest in enumerate(("a" * 64, "a" * 64 + "\n", "A" * 64)):
        path = crafted(tmp_path / str(number), [("b", log([attached(digest)], types.ATTACHMENT_ADDED))])
        with pytest.raises(BadArchive):
            await store.importing.archive(path)
        await nothing_is_there(store)


def with_second(events: list[Event], **changes: Any) -> list[Event]:
    """The log of two events with another second one, its hash made again."""
    first, second = events
    second = replace(second, parent_id=None, **changes)
    sealed = seal(first.hash, 2, second.event_id, second.type, None, second.created_at, second.payload)
    return [first, replace(second, hash=sealed)]


async def test_events_that_the_store_would_never_write_are_refused(store: Store, tmp_path: Path) -> None:
    two = log([b"1", b"2"])
    logs = [
        with_second(two, event_id="e1"),
        with_second(two, idempotency_key="key-1"),
        log([b'{"goalId":17,"description":"d","status":"pending","priority":"low"}'], types.GOAL_ADDED),
    ]
    for number, events in enumerate(logs):
        with pytest.raises(BadArchive):
            await store.importing.archive(crafted(tmp_path / str(number), [("b", events)]))
        await nothing_is_there(store)


async def test_no_sweep_takes_bytes_that_an_import_is_about_to_name(store: Store, tmp_path: Path) -> None:
    path = await exported(store, tmp_path / "a")
    target = store.for_tenant("elsewhere")
    swept: list[int] = []

    async def sweep() -> None:
        swept.append((await target.attachments.sweep(0)).count)

    await with_meanwhile(target, sweep).archive(path)
    assert sum(swept) == 0
    assert await rows(
        store, "SELECT count(*) FROM attachments WHERE touched_at > ?1", SystemClock().now() + 60_000
    ) == [(0,)]
    (put,) = await target.attachments.of_session("rich")
    assert b"".join([part async for part in target.attachments.read(put.digest)]) == b"bytes"


async def test_an_import_whose_bytes_are_gone_names_none(store: Store, tmp_path: Path) -> None:
    path = await exported(store, tmp_path / "a")
    target = store.for_tenant("elsewhere")

    async def lose() -> None:
        await run(store, "UPDATE attachments SET complete = 0 WHERE tenant = 'elsewhere'")

    with pytest.raises(Conflict, match="attachment"):
        await with_meanwhile(target, lose).archive(path)
    assert "rich" not in {session.session_id for session in (await target.sessions.list()).sessions}
    await target.importing.archive(path)
    assert len(await target.attachments.of_session("rich")) == 1
