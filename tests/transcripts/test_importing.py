"""Importing transcripts: each line once, what is wrong told by file and line, on record, taken back, moved if ours."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from tests.support.plain_transcripts import PlainTranscripts, write

from holdfast.core import NewEvent
from holdfast.core.errors import Conflict, InvalidInput, StoreUnavailable
from holdfast.store import Store
from holdfast.store.portable import SealedLog, SessionHeader
from holdfast.store.transfer import restore_files, undo_import
from holdfast.transcripts import Transcript, import_transcripts, source_of
from holdfast.transcripts.store_sessions import StoreSessions


class FailingSessions(StoreSessions):
    """Fails, as a store does whose disk is away, at some call."""

    def __init__(self, store: Store, calls: int) -> None:
        super().__init__(store)
        self.left = calls

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise StoreUnavailable("the disk is away")

    async def head(self, session_id: str) -> int | None:
        self._count()
        return await super().head(session_id)

    async def add_logs(self, logs: Sequence[tuple[SessionHeader, SealedLog]]) -> None:
        self._count()
        await super().add_logs(logs)
        self._count()

    async def append(self, session_id: str, events: Sequence[NewEvent]) -> int:
        self._count()
        return await super().append(session_id, events)


@pytest.fixture
def sessions(store: Store) -> StoreSessions:
    return StoreSessions(store)


async def texts(store: Store, session_id: str) -> list[str]:
    return [event.value()["text"] for event in await store.read(session_id) if event.type == "note"]


async def test_a_transcript_arrives_whole_with_its_key_times_and_description(
    store: Store, sessions: StoreSessions, tmp_path: Path
) -> None:
    path = write(tmp_path / "in", "one", "a - first", "b a second")
    done = await import_transcripts(sessions, PlainTranscripts(), tmp_path / "in", tmp_path / "imports")
    assert (done.sessions, done.events, done.refused) == (["one"], 2, [])
    row = await store.sessions.get("one")
    assert (row.agent, row.created_at, list(row.tags)) == ("main", 1_000, ["plain"])
    assert row.metadata == {
        "title": "one",
        "source": {"name": "plain", "folder": str(tmp_path / "in"), "file": "one.lines"},
    }
    events = [event for event in await store.read("one") if event.type == "note"]
    assert [(e.event_id, e.parent_id, e.payload) for e in events] == [
        ("a", None, b'{"text": "first"}'),
        ("b", "a", b'{"text": "second"}'),
    ]
    assert (await store.keys.get("agent:main:one")).session_id == "one"
    (file,) = json.loads((done.record / "manifest.json").read_bytes())["files"]
    copy = (done.record / file["archive"]).read_bytes()
    assert copy == path.read_bytes(), "the source is only read"
    assert (file["source"], file["size"], file["sha256"]) == (str(path), len(copy), sha256(copy).hexdigest())


async def test_what_a_transcript_says_wrong_is_kept_and_told(
    store: Store, sessions: StoreSessions, tmp_path: Path
) -> None:
    write(tmp_path / "in", "one", "a - x", "b lost y", "a - x", torn="c b z")
    done = await import_transcripts(sessions, PlainTranscripts(), tmp_path / "in", tmp_path / "imports")
    assert await texts(store, "one") == ["x", "y", "x"]
    assert [(note.code, note.file.name, note.line) for note in done.notes.first] == [
        ("chain_broken", "one.lines", 2),
        ("line_repeated", "one.lines", 3),
        ("line_unreadable", "one.lines", 4),
    ]
    write(tmp_path / "in", "one", "a - x", "b lost y", "a - x", "c b z")
    again = await import_transcripts(sessions, PlainTranscripts(), tmp_path / "in", tmp_path / "imports")
    assert (again.there_before, again.events) == (["one"], 1)
    assert await texts(store, "one") == ["x", "y", "x", "z"]


async def test_importing_again_changes_nothing(store: Store, sessions: StoreSessions, tmp_path: Path) -> None:
    write(tmp_path / "in", "one", "a - x")
    await import_transcripts(sessions, PlainTranscripts(), tmp_path / "in", tmp_path / "imports")
    head = await sessions.head("one")
    again = await import_transcripts(sessions, PlainTranscripts(), tmp_path / "in", tmp_path / "imports")
    assert (again.sessions, again.there_before, again.events) == ([], ["one"], 0)
    assert await sessions.head("one") == head


async def test_what_cannot_be_read_or_is_refused_keeps_nobody_out(
    store: Store, sessions: StoreSessions, tmp_path: Path
) -> None:
    for name in ("bad id", "broken", "fine", "taken", "zeta"):
        write(tmp_path / "in", name, "a - x")
    await store.append("taken", [NewEvent("note", {"text": "another"}, "a")])
    await store.append("gone", [NewEvent("note", {})])
    write(tmp_path / "in", "gone", "a - x")
    await store.deletion.delete("gone", reason="test")
    done = await import_transcripts(sessions, PlainTranscripts("broken"), tmp_path / "in", tmp_path / "imports")
    assert sorted(done.sessions) == ["fine", "zeta"]
    refused = {each.session_id: each.code for each in done.refused}
    assert refused.keys() == {"bad id", "broken", "taken", "gone"}
    assert refused["broken"] == "invalid_input"


async def test_two_files_of_one_session_are_one_session_with_the_lines_of_both(
    store: Store, sessions: StoreSessions, tmp_path: Path
) -> None:
    class Twice(PlainTranscripts):
        def transcripts(self, folder: Path) -> Iterator[Transcript]:
            for each in super().transcripts(folder):
                yield replace(each, session_id="same")

    write(tmp_path / "in", "one", "a - x")
    write(tmp_path / "in", "two", "a - x", "b a y")
    done = await import_transcripts(sessions, Twice(), tmp_path / "in", tmp_path / "imports")
    assert (done.sessions, done.events) == (["same", "same"], 2)
    assert await texts(store, "same") == ["x", "y"]
    assert (await undo_import(sessions, done.record)).sessions == ["same"]


async def test_children_come_after_their_parents(store: Store, sessions: StoreSessions, tmp_path: Path) -> None:
    write(tmp_path / "in", "a-parent", "a - x")
    write(tmp_path / "in", "b-child", "a - x")
    added: list[int] = []

    class Counted(StoreSessions):
        async def add_logs(self, logs: Sequence[tuple[SessionHeader, SealedLog]]) -> None:
            added.append(1)
            await super().add_logs(logs)

    source = PlainTranscripts(parents={"b-child": "a-parent"})
    await import_transcripts(Counted(store), source, tmp_path / "in", tmp_path / "imports")
    assert len(added) == 2, "never in one archive, which may arrive in part"
    assert (await store.sessions.get("b-child")).lineage["parentSession"] == "a-parent"


@pytest.mark.parametrize("moves", [False, True])
async def test_an_import_that_fails_anywhere_is_run_again_and_is_one_import(
    store: Store, sessions: StoreSessions, tmp_path: Path, moves: bool
) -> None:
    folder = tmp_path / "in"
    paths = [write(folder, f"s{number}", "a - x", "b a y") for number in range(5)]
    before = {path: path.read_bytes() for path in paths}
    calls, done = 0, None
    while done is None:
        failing = FailingSessions(store, calls)
        try:
            done = await import_transcripts(
                failing, PlainTranscripts(), folder, tmp_path / "imports", moves=moves, pack=2
            )
        except StoreUnavailable:
            calls += 1
            assert {path: path.read_bytes() for path in paths} == before, "nothing is moved before all is there"
    assert calls > 5
    (record,) = (tmp_path / "imports").iterdir()
    assert sorted(done.sessions) == [f"s{number}" for number in range(5)]
    for number in range(5):
        assert await texts(store, f"s{number}") == ["x", "y"]
    assert all(path.exists() != moves for path in paths)
    undone = await undo_import(sessions, record)
    assert sorted(undone.sessions) == [f"s{number}" for number in range(5)]
    if moves:
        back, taken = restore_files(record)
        assert (sorted(back), taken) == (paths, [])
    assert {path: path.read_bytes() for path in paths} == before


async def test_files_come_back_only_where_their_place_is_free(sessions: StoreSessions, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    one, two = write(folder, "one", "a - x"), write(folder, "two", "a - y")
    done = await import_transcripts(sessions, PlainTranscripts(), folder, tmp_path / "imports", moves=True)
    assert list(folder.iterdir()) == []
    one.write_text("newer")
    assert restore_files(done.record) == ([two], [one])
    assert one.read_text() == "newer"
    assert (done.record / "files" / "one.lines").exists()


async def test_a_session_that_went_on_is_not_taken_back(store: Store, sessions: StoreSessions, tmp_path: Path) -> None:
    write(tmp_path / "in", "one", "a - x")
    done = await import_transcripts(sessions, PlainTranscripts(), tmp_path / "in", tmp_path / "imports")
    await store.append("one", [NewEvent("note", {"text": "later"})])
    with pytest.raises(Conflict, match="has gone on"):
        await undo_import(sessions, done.record)


def test_a_folder_is_recognised_or_refused_with_what_was_looked_for(tmp_path: Path) -> None:
    source = PlainTranscripts()
    with pytest.raises(InvalidInput) as refusal:
        source_of(tmp_path, [source])
    assert refusal.value.hint == "looked for plain: <session>.lines"
    write(tmp_path, "one")
    assert source_of(tmp_path, [source]) is source
