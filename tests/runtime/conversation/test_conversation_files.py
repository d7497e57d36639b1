"""The files of a conversation: whole at every instant, older states beside it, and what is damaged is said."""

import json
import os
import stat
from itertools import pairwise
from pathlib import Path

import pytest
from tests.runtime.conversation.places import Place, user

from holdfast.core.errors import Corrupt, InvalidInput, SchemaUnknown, StaleWriter
from holdfast.runtime import ConversationSession
from holdfast.runtime.conversation.rotation import rotated


def names(place: Place) -> list[str]:
    return sorted(path.name for path in (place.root / ".holdfast" / "sessions").iterdir())


def texts(session: ConversationSession, number: int) -> list[str]:
    """What was said in an older state."""
    assert session.storage_path is not None
    return [said["content"] for said in json.loads(rotated(session.storage_path, number).read_text())["messages"]]


def test_the_previous_file_is_kept_once_per_growth(file_place: Place) -> None:
    session = file_place.new(rotate_after_bytes=4_000, max_rotated_files=2)
    rotations = []
    for number in range(40):
        before = names(file_place) if number else []
        session.append(user(str(number) + "x" * 400))
        first = f"{session.session_id}.1.json"
        assert session.storage_path is not None
        if first in names(file_place) and (first not in before or texts(session, 1)[-1].startswith(f"{number - 1}x")):
            rotations.append(number)
            assert len(texts(session, 1)) == number, "the state before this write"
    gaps = [later - earlier for earlier, later in pairwise(rotations)]
    assert set(gaps) <= {9, 10}, "once per 4,000 bytes"
    assert names(file_place) == [f"{session.session_id}{end}" for end in (".1.json", ".2.json", ".json")]
    assert len(texts(session, 1)) - len(texts(session, 2)) in {9, 10}
    assert len(file_place.again(session).messages) == 40


def test_the_growth_is_remembered_over_a_restart(file_place: Place) -> None:
    session = file_place.new(rotate_after_bytes=4_000)
    for number in range(12):
        session.append(user(str(number) + "x" * 400))
    kept = texts(session, 1)
    for number in range(3):
        session = file_place.again(session)
        session.append(user(f"more {number}"))
    assert texts(session, 1) == kept
    assert f"{session.session_id}.2.json" not in names(file_place)


def test_after_a_compaction_the_growth_counts_from_the_smaller_file(file_place: Place) -> None:
    session = file_place.new(rotate_after_bytes=4_000, auto_compaction_input_tokens_threshold=2_000)
    session.extend([user("Say " + "x" * 4_000) for _ in range(3)])
    session.extend([user("Say y") for _ in range(4)])
    assert session.maybe_compact() is not None
    count = len(names(file_place))
    session.append(user("Say " + "z" * 3_500))
    session.append(user("Say " + "z" * 3_500))
    assert len(names(file_place)) == count + 1


def test_no_older_state_is_kept_if_none_is_wanted(file_place: Place) -> None:
    session = file_place.new(rotate_after_bytes=10, max_rotated_files=0)
    session.append(user("a"))
    session.append(user("b"))
    assert names(file_place) == [f"{session.session_id}.json"]


def test_a_damaged_file_is_said_and_left_as_it_is(file_place: Place) -> None:
    session = file_place.new()
    session.append(user("a"))
    session.release()
    path = session.storage_path
    assert path is not None
    whole = path.read_bytes()
    older = file_place.again(session)
    for damaged in (b"", whole[:-10], b"[]", b"{}", whole.replace(b'"role":"user"', b'"role":"nobody"')):
        path.write_bytes(damaged)
        with pytest.raises(Corrupt):
            file_place.load(session.session_id)
        with pytest.raises(Corrupt):
            file_place.load()
    path.write_bytes(whole[:-10])
    with pytest.raises(Corrupt):
        older.append(user("b"))
    assert path.read_bytes() == whole[:-10]
    path.write_bytes(whole.replace(b'"format":1', b'"format":2'))
    with pytest.raises(SchemaUnknown):
        file_place.load(session.session_id)


def test_a_damaged_history_is_said(file_place: Place) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=1)
    session.extend([user("abcd")] * 6)
    session.maybe_compact()
    assert session.storage_path is not None
    session.storage_path.with_name(f"{session.session_id}.history.jsonl").write_bytes(b'{"mess\n')
    with pytest.raises(Corrupt):
        session.history()


def test_a_pointer_that_leads_nowhere_gives_way_to_the_newest(file_place: Place) -> None:
    first, second = file_place.new(), file_place.new()
    first.append(user("a"))
    second.append(user("b"))
    assert second.storage_path is not None
    second.storage_path.unlink()
    third = file_place.new(rotate_after_bytes=1)
    third.append(user("c"))
    third.append(user("d"))
    assert third.storage_path is not None
    third.storage_path.unlink()
    (file_place.root / ".holdfast" / "sessions" / "junk.json").write_text("{")
    found = file_place.load()
    assert found is not None
    assert found.session_id == first.session_id
    pointer = next((file_place.root / ".holdfast" / "state").glob("current*"))
    for said in ("", "{}", "[]", '{"session_id":"../x"}', '{"session_id":1}'):
        pointer.write_text(said)
        found = file_place.load()
        assert found is not None
        assert found.session_id == first.session_id


def test_an_id_that_would_be_an_older_state_of_another_is_refused(file_place: Place) -> None:
    for wrong in ("a.1", "x.y.22", "../up", ""):
        with pytest.raises(InvalidInput):
            file_place.new(session_id=wrong)
        assert file_place.load(wrong) is None
    with pytest.raises(InvalidInput, match="storage"):
        file_place.new().fork().__class__(**file_place.settings() | {"storage": "tape"})


def test_what_dead_writers_left_is_removed_and_nothing_is_for_others_to_read(file_place: Place) -> None:
    session = file_place.new()
    session.append(user("a"))
    session.release()
    assert session.storage_path is not None
    left = session.storage_path.with_name(f"{session.storage_path.name}.0123456789abcdef.tmp")
    left.write_bytes(b"half")
    session.append(user("b"))
    assert names(file_place) == [f"{session.session_id}.json"]
    assert stat.S_IMODE(session.storage_path.stat().st_mode) == 0o600
    assert stat.S_IMODE(session.storage_path.parent.stat().st_mode) == 0o700


def test_a_file_that_was_deleted_is_written_again(file_place: Place) -> None:
    session = file_place.new()
    session.append(user("a"))
    assert session.storage_path is not None
    session.storage_path.unlink()
    session.append(user("b"))
    assert file_place.again(session).messages == [user("a"), user("b")]
    with pytest.raises(StaleWriter):
        file_place.new(session_id=session.session_id).persist()


def test_every_name_is_on_the_disk_before_a_write_is_acknowledged(
    file_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = file_place.new(auto_compaction_input_tokens_threshold=1)
    session.extend([user("abcd")] * 6)
    calls: list[tuple[str, str]] = []
    paths: dict[int, str] = {}
    opened, synced, replaced = os.open, os.fsync, os.replace

    def open_(path: str, flags: int, *more: int) -> int:
        file = opened(path, flags, *more)
        paths[file] = str(path)
        return file

    def fsync(file: int) -> None:
        calls.append(("fsync", Path(paths[file]).name))
        synced(file)

    def replace(source: str, target: str) -> None:
        calls.append(("replace", Path(target).name))
        replaced(source, target)

    monkeypatch.setattr(os, "open", open_)
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    assert session.maybe_compact() is not None
    monkeypatch.undo()
    live = f"{session.session_id}.json"
    shape = [
        (verb, name.removesuffix(".tmp").split(".json.")[0] + ("*" if ".tmp" in name else "")) for verb, name in calls
    ]
    assert shape == [
        ("fsync", f"{session.session_id}.history.jsonl"),
        ("fsync", "sessions"),
        ("fsync", f"{session.session_id}*"),
        ("replace", live),
        ("fsync", "sessions"),
    ]
