"""A guard that goes on: what fails is tried again as a whole, what is rewritten loses nothing, what is new is seen."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.core import NewEvent
from holdfast.core.errors import NotFound, StoreUnavailable
from holdfast.core.event_bodies import SessionCreated
from holdfast.store import Store
from holdfast.transcripts.files.folder_walk import FolderWalk
from holdfast.transcripts.guard import FolderWatch, KnownFiles, LogEnd, NewestLine, TranscriptGuard
from holdfast.transcripts.masking import is_masked
from holdfast.transcripts.sources import file_source
from holdfast.transcripts.store_sessions import StoreSessions

SESSION = "11111111-1111-4111-8111-111111111111"


class GuardedStore(StoreSessions):
    """A store as the destination of a guard; it is away for as many appends as are said."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.store = store
        self.away = 0
        self.asked: list[str] = []
        """The sessions of which the newest line was asked for."""

    async def append(self, session_id: str, events: Sequence[NewEvent]) -> int:
        if self.away:
            self.away -= 1
            raise StoreUnavailable("the gateway is away")
        return await super().append(session_id, events)

    async def newest_line(self, session_id: str) -> NewestLine | None:
        self.asked.append(session_id)
        try:
            session = await self.store.sessions.get(session_id)
        except NotFound:
            return None
        newest = await self.store.read(session_id, after=session.head_seq - 1)
        return NewestLine(newest[0].event_id, is_masked(session.metadata))

    async def describe(self, session_id: str, body: SessionCreated) -> None:
        await self.store.sessions.create(session_id, metadata=dict(body.metadata or {}))

    async def log_ends(self, session_ids: Sequence[str]) -> dict[str, LogEnd]:
        found = [await self.store.sessions.get(each) for each in await self.heads(session_ids)]
        return {each.session_id: LogEnd(each.head_seq, each.head_hash.hex()) for each in found}

    async def kept(self) -> list[str]:
        """The words of the lines that were kept, in their order."""
        events = await self.store.read(SESSION)
        return [event.value().get("say") for event in events if event.event_id.startswith("line-")]


@pytest.fixture
def destination(store: Store) -> GuardedStore:
    return GuardedStore(store)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    project = tmp_path / "claude" / "projects" / "-work"
    project.mkdir(parents=True)
    return project / f"{SESSION}.jsonl"


def guard_of(path: Path) -> TranscriptGuard:
    """A new guard, which knows what the one before has noted."""
    folder = path.parents[2]
    known = KnownFiles(folder.parent / "guard", "claude-code", folder)
    return TranscriptGuard(FolderWatch(file_source("claude-code"), folder), masks=False, known=known)


def line(say: str, **more: str) -> bytes:
    return json.dumps({"type": "user", **more, "say": say}).encode() + b"\n"


async def look(guard: TranscriptGuard, destination: GuardedStore) -> int:
    """Keep what has changed, and note it; how many lines."""
    changes = await guard.recall(destination, guard.watch.changes())
    count = sum([await guard.keep(destination, *change) for change in changes.items()])
    await guard.remember(destination)
    return count


def make_old(path: Path, seconds: int = 60) -> None:
    """Have a file written some time ago: of one written at this moment nothing is noted."""
    then = time.time() - seconds
    os.utime(path, (then, then))


async def test_what_could_not_be_kept_is_kept_as_soon_as_it_can_be(destination: GuardedStore, path: Path) -> None:
    guard = guard_of(path)
    path.write_bytes(line("one", uuid="u1"))
    assert await look(guard, destination) == 1
    with path.open("ab") as file:
        file.write(line("two") + line("three", uuid="u3"))
    destination.away = 1
    with pytest.raises(StoreUnavailable):
        await look(guard, destination)
    assert await look(guard, destination) == 2
    assert await look(guard, destination) == 0
    assert await destination.kept() == ["one", "two", "three"]


async def test_a_file_that_is_rewritten_under_a_guard_adds_only_what_is_new(
    destination: GuardedStore, path: Path
) -> None:
    guard = guard_of(path)
    path.write_bytes(line("one", uuid="u1") + line("two", uuid="u2"))
    await look(guard, destination)
    path.write_bytes(line("two", uuid="u2") + line("three", uuid="u3"))
    assert await look(guard, destination) == 1
    assert guard.report.notes.counts == {"file_rewritten": 1}
    os.truncate(path, 0)
    assert await look(guard, destination) == 0
    assert await destination.kept() == ["one", "two", "three"]


async def test_a_guard_that_starts_again_leaves_alone_what_an_earlier_one_has_kept(
    destination: GuardedStore, path: Path
) -> None:
    path.write_bytes(line("one", uuid="u1"))
    make_old(path)
    assert await look(guard_of(path), destination) == 1
    destination.asked.clear()
    again = guard_of(path)
    assert (await look(again, destination), destination.asked, again.watch.changes()) == (0, [], {})


async def test_a_known_file_is_looked_at_if_it_has_changed_in_any_way(destination: GuardedStore, path: Path) -> None:
    path.write_bytes(line("one", uuid="u1"))
    make_old(path)
    await look(guard_of(path), destination)
    path.write_bytes(line("two", uuid="u2"))  # as long as before
    make_old(path, seconds=30)
    assert await look(guard_of(path), destination) == 1
    assert await destination.kept() == ["one", "two"]


async def test_a_known_file_is_looked_at_if_the_store_has_another_log(
    destination: GuardedStore, path: Path, store: Store
) -> None:
    path.write_bytes(line("one", uuid="u1"))
    make_old(path)
    await look(guard_of(path), destination)
    other = GuardedStore(store.for_tenant(f"{store.tenant}-other"))
    assert await look(guard_of(path), other) == 1
    assert await other.kept() == ["one"]
    await store.sessions.tag(SESSION, add=["seen"])
    destination.asked.clear()
    assert (await look(guard_of(path), destination), destination.asked) == (0, [SESSION])


async def test_a_file_that_was_written_at_the_moment_of_the_look_is_not_known_yet(
    destination: GuardedStore, path: Path
) -> None:
    path.write_bytes(line("one", uuid="u1"))
    soon = time.time() + 60
    os.utime(path, (soon, soon))
    assert await look(guard_of(path), destination) == 1
    destination.asked.clear()
    assert (await look(guard_of(path), destination), destination.asked) == (0, [SESSION])


async def test_notes_that_cannot_be_read_are_as_good_as_none(destination: GuardedStore, path: Path) -> None:
    path.write_bytes(line("one", uuid="u1"))
    make_old(path)
    await look(guard_of(path), destination)
    (notes,) = (path.parents[2].parent / "guard").iterdir()
    notes.write_bytes(b'{"torn":')
    assert await look(guard_of(path), destination) == 0
    assert await destination.kept() == ["one"]


async def test_a_line_whose_parent_is_unknown_is_kept_and_said(destination: GuardedStore, path: Path) -> None:
    guard = guard_of(path)
    path.write_bytes(line("one", uuid="u1", parentUuid="nobody") + line("two", uuid="u2", parentUuid="u1"))
    assert await look(guard, destination) == 2
    assert guard.report.notes.counts == {"chain_broken": 1}
    assert (await destination.store.read(SESSION))[-1].parent_id == "line-u1"


def test_new_files_and_folders_are_seen_and_old_ones_only_once(path: Path) -> None:
    watch = FolderWatch(file_source("claude-code"), path.parents[2])

    def changed() -> list[str]:
        found = watch.changes()
        for each in found.items():
            watch.keep(*each)
        return [each.name for each in found]

    assert changed() == []
    path.write_bytes(line("one"))
    assert (changed(), changed()) == ([path.name], [])
    agents = path.with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    assert changed() == []
    (agents / "agent-1.jsonl").write_bytes(line("two"))
    other = path.parents[1] / "-other"
    other.mkdir()
    (other / path.name).write_bytes(line("three"))
    assert changed() == [path.name, "agent-1.jsonl"]
    path.unlink()
    assert changed() == []


def test_a_name_that_comes_in_the_same_moment_as_the_listing_is_not_overlooked(tmp_path: Path) -> None:
    walk = FolderWalk()
    assert walk(tmp_path) == []
    (tmp_path / "new").touch()
    os.utime(tmp_path, ns=(0, walk._states[str(tmp_path)][1]))  # type: ignore[index] # a clock that has not moved on
    assert not walk.is_current()
    os.utime(tmp_path, ns=(0, 0))
    settled = FolderWalk()
    assert settled(tmp_path) == ["new"] and settled.is_current()
    (tmp_path / "newer").touch()
    assert not settled.is_current()
