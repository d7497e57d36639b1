"""Plain files in and out of a store itself, as a gateway does it: once however often, on record, taken back."""

import json
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from holdfast.core import Event, NewEvent, Session, State
from holdfast.core.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from holdfast.store import Store, open_store
from holdfast.store.portable import read_folder
from holdfast.store.transfer import (
    MissingDocuments,
    SessionDocuments,
    export_folders,
    import_folders,
    import_key,
)
from holdfast.store.transfer.folder_imports import undo_import
from holdfast.store.transfer.import_record import begin_record, sessions_made
from holdfast.store.transfer.missing_documents import has_all, missing_in
from holdfast.store.transfer.recorded_files import regular_files
from holdfast.transcripts.store_sessions import StoreSessions

NOTHING = MissingDocuments({}, [], {}, None)


class ReadableSessions(StoreSessions):
    """A store's sessions, as the source and the destination of plain files; one of them may not be asked for."""

    def __init__(self, store: Store, fails_at: str | None = None) -> None:
        super().__init__(store)
        self._fails_at = fails_at

    async def session_ids(self) -> AsyncIterator[str]:
        for session in (await self._store.sessions.list()).sessions:
            yield session.session_id

    async def session(self, session_id: str) -> tuple[Session, State]:
        return await self._store.sessions.get(session_id), await self._store.state.get(session_id)

    async def events(self, session_id: str, after: int, limit: int) -> AsyncIterator[Event]:
        for event in await self._store.read(session_id, after=after, limit=min(limit, 3)):
            yield event

    async def head(self, session_id: str) -> int | None:
        if session_id == self._fails_at:
            raise StoreUnavailable("the disk is away")
        return await super().head(session_id)


@pytest.fixture
def sessions(store: Store) -> ReadableSessions:
    return ReadableSessions(store)


def folder(root: Path, name: str, *notes: int, **documents: Any) -> Path:
    made = root / "sessions" / name
    made.mkdir(parents=True, exist_ok=True)
    lines = [
        {"type": "note", "timestamp": f"2026-01-01T00:00:{number:02}Z", "details": {"n": number}} for number in notes
    ]
    (made / "actions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for file, document in documents.items():
        (made / f"{file}.json").write_text(json.dumps(document))
    return made


DOCUMENTS = {
    "metadata": {"tags": ["a"], "metadata": {"model": "m"}, "status": "completed"},
    "state": {"phase": 2, "deep": {"x": 1}},
    "final": {"status": "completed", "outcome": "done"},
}


async def test_a_folder_arrives_once_and_what_grew_is_gone_on_with(
    store: Store, sessions: ReadableSessions, tmp_path: Path
) -> None:
    root, place = tmp_path / "files", tmp_path / "imports"
    folder(root, "old", 1, 2)
    first = await import_folders(sessions, root, place)
    assert (first.sessions, first.there_before, first.events) == (["old"], [], 2)
    again = await import_folders(sessions, root, place)
    assert (again.sessions, again.there_before, again.events) == ([], ["old"], 0)
    folder(root, "old", 1, 2, 3, **DOCUMENTS)
    seen: list[tuple[int, int]] = []
    third = await import_folders(sessions, root, place, lambda done, of: seen.append((done, of)))
    assert (third.there_before, third.events, seen) == (["old"], 1, [(0, 1)])
    found = await sessions.documents("old")
    assert missing_in(found, read_folder(root / "sessions" / "old")) == NOTHING
    head = await sessions.head("old")
    await import_folders(sessions, root, place)
    assert await sessions.head("old") == head, "what is there already is not written again"


async def test_an_import_is_taken_back_unless_a_session_went_on(
    store: Store, sessions: ReadableSessions, tmp_path: Path
) -> None:
    root = tmp_path / "files"
    folder(root, "a", 1)
    folder(root, "b", 1, 2)
    done = await import_folders(sessions, root, tmp_path / "imports")
    await store.append("b", [NewEvent("note", {})])
    with pytest.raises(Conflict, match="'b' has gone on"):
        await undo_import(sessions, done.record)
    assert await sessions.head("a") == 1, "all or none"
    await sessions.delete("b", "by name")
    assert await undo_import(sessions, done.record) == (["a"], 1)
    assert await undo_import(sessions, done.record) == ([], 0)


async def test_what_is_no_matter_of_one_session_ends_the_import_and_its_record_is_whole(
    store: Store, tmp_path: Path
) -> None:
    for name in ("a", "b", "c"):
        folder(tmp_path / "files", name, 1)
    failing = ReadableSessions(store, fails_at="b")
    with pytest.raises(StoreUnavailable):
        await import_folders(failing, tmp_path / "files", tmp_path / "imports")
    (record,) = (tmp_path / "imports").iterdir()
    assert sessions_made(record) == {"a": 1}


async def test_a_bad_folder_is_refused_and_the_others_arrive(sessions: ReadableSessions, tmp_path: Path) -> None:
    root = tmp_path / "files"
    folder(root, "a", 1)
    (folder(root, "b", 1) / "actions.jsonl").write_text('{"type": "note"}\nnonsense\n')
    folder(root, "c", 1)
    done = await import_folders(sessions, root, tmp_path / "imports")
    assert done.sessions == ["a", "c"]
    (refused,) = done.refused
    assert (refused.session, refused.file, refused.line, refused.code) == ("b", "b/actions.jsonl", 2, "bad_archive")


async def test_sessions_go_out_as_files_and_come_back_the_same(
    store: Store, sessions: ReadableSessions, tmp_path: Path
) -> None:
    await store.sessions.create("one", user_id="ada", tags=["x"], metadata={"m": 1})
    await store.append("one", [NewEvent("note", {"n": 1}), NewEvent("holdfast.response", {"text": "hi"})])
    await store.state.patch("one", {"phase": 1})
    first = await export_folders(sessions, tmp_path / "out", [])
    assert (first.sessions, first.events) == (1, 4)
    assert (await export_folders(sessions, tmp_path / "out", ["one"])).events == 0
    with pytest.raises(NotFound):
        await export_folders(sessions, tmp_path / "out", ["none"])
    async with await open_store(f"sqlite:///{tmp_path}/other.db") as other:
        there = ReadableSessions(other)
        await import_folders(there, tmp_path / "out", tmp_path / "imports")
        await export_folders(there, tmp_path / "back", [])
    for path in (tmp_path / "out" / "sessions" / "one").glob("*.jsonl"):
        assert (tmp_path / "back" / "sessions" / "one" / path.name).read_bytes() == path.read_bytes()


def test_a_record_has_copies_of_all_files_with_their_digests(tmp_path: Path) -> None:
    made = folder(tmp_path, "a", 1, state={"x": 1})
    (tmp_path / "linked").symlink_to(made)
    (made / "link").symlink_to("/etc/passwd")
    found = [*regular_files(made), *regular_files(tmp_path / "linked")]
    with begin_record(
        tmp_path / "imports", {"source": "files"}, ((each, f"files/a/{each.name}") for each in found)
    ) as record:
        files = json.loads((record.path / "manifest.json").read_bytes())["files"]
        assert [each["archive"] for each in files] == ["files/a/actions.jsonl", "files/a/state.json"]
        record.copy()
        for each in files:
            copy = (record.path / each["archive"]).read_bytes()
            assert (each["size"], each["sha256"]) == (len(copy), sha256(copy).hexdigest())
            assert copy == Path(each["source"]).read_bytes()
        record.making({"a": 2, "b": 1})
        record.not_made("b")
    assert sessions_made(record.path) == {"a": 2}, "also before it ends"
    with begin_record(tmp_path / "imports", {"source": "files"}, []) as again:
        assert (again.path, again.made) == (record.path, {"a": 2}), "one that has not ended is gone on with"
        again.end()
    assert sessions_made(record.path) == {"a": 2}
    assert json.loads((record.path / "manifest.json").read_bytes())["files"] == files
    with begin_record(tmp_path / "imports", {"source": "files"}, []) as other:
        assert other.path != record.path


@pytest.mark.parametrize("manifest", [None, "", "[]", "{}", '{"made": 1}', '{"made": ["a"]}'])
def test_what_is_no_record_is_refused(tmp_path: Path, manifest: str | None) -> None:
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(InvalidInput, match="not what an import kept"):
        sessions_made(tmp_path)


def test_only_what_a_session_lacks_is_missing(tmp_path: Path) -> None:
    found = read_folder(folder(tmp_path, "a", 1, **DOCUMENTS))
    whole = SessionDocuments({"model": "m", "mine": 1}, ["b", "a"], {"phase": 2, "deep": {"x": 1, "y": 2}}, None)
    end = {"status": "completed", "outcome": "done", "response": None}
    assert missing_in(whole, found) == MissingDocuments({}, [], {}, end)
    bare = SessionDocuments({"model": "other"}, [], {"phase": 1}, {"status": "completed", "outcome": "done"})
    state = {"phase": 2, "deep": {"x": 1}}
    assert missing_in(bare, found) == MissingDocuments({"model": "m"}, ["a"], state, None)


@pytest.mark.parametrize(
    ("here", "given", "has"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, True),
        ({"a": 1}, {"a": 2}, False),
        ({}, {"a": {}}, False),
        ([{"id": 1}, {"id": 2, "x": 3}], [{"id": 2}], True),
        ([{"id": 1}], [{"id": 2}], False),
        ([1, 2], [1], False),
        ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00Z", True),
        ("2026-01-01T00:00:00.000Z", 1767225600000, True),
        ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01Z", False),
        ("text", "other", False),
    ],
)
def test_what_a_value_has_of_another(here: Any, given: Any, has: bool) -> None:
    assert has_all(here, given) is has


def test_the_key_of_the_same_is_the_same_in_any_order() -> None:
    assert import_key({"a": 1, "b": 2}) == import_key({"b": 2, "a": 1}) != import_key({"a": 1})
