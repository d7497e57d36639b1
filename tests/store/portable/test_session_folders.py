"""A session as a folder of plain files: what is written, gone on with after a crash, and read back."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.portable.sample_archives import log
from tests.store.syncs import noted

from holdfast.core import Event, NewEvent, Session, State, strict_json, types
from holdfast.core.errors import BadArchive, Conflict, InvalidInput
from holdfast.store.portable import FolderWriter, read_folder, session_folders
from holdfast.store.portable.files_layout import ACTIONS, RESPONSES

SESSION = Session(
    "s1", "main", "ada", "completed", 1_700_000_000_000, 1_700_000_000_009, 4, bytes(32), {"a": 1}, ("t",),
    {"input": "hi"}, {"status": "completed"},
)  # fmt: skip
STATE = State("s1", 3, {"phase": "plan", "goals": []}, 5)


def mixed(count: int = 6) -> list[Event]:
    """A log of actions, responses and the store's own events in turn."""
    kinds = ["team_spawn", types.RESPONSE, types.STATE_UPDATED]
    events = log([b'{"n": %d.0}' % number for number in range(count)])
    return [dataclasses.replace(event, type=kinds[index % 3]) for index, event in enumerate(events)]


def export(root: Path, events: list[Event], session_id: str = "s1") -> None:
    """Write the events that the folder does not have yet."""
    with FolderWriter(root, session_id) as writer:
        for event in events[writer.seq :]:
            writer.event(event)
        writer.documents(dataclasses.replace(SESSION, session_id=session_id), STATE)


def folder(root: Path, **files: str | bytes) -> Path:
    """A folder `s1` with these files; `actions` is actions.jsonl, `state` is state.json."""
    path = root / "s1"
    path.mkdir(exist_ok=True)
    for name, text in files.items():
        suffix = "jsonl" if name in {"actions", "responses"} else "json"
        (path / f"{name}.{suffix}").write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def entries(events: list[Event]) -> list[Event]:
    return [event for event in events if event.type in {"team_spawn", types.RESPONSE}]


def test_what_the_files_say(tmp_path: Path) -> None:
    events = mixed()
    export(tmp_path, events)
    path = tmp_path / "sessions" / "s1"
    names = ["actions.jsonl", "final.json", "initial.json", "metadata.json", "responses.jsonl", "state.json"]
    assert sorted(entry.name for entry in path.iterdir()) == names
    first, second = lines(path / ACTIONS)
    assert list(first.items()) == [
        ("type", "team_spawn"),
        ("timestamp", "2023-11-14T22:13:20.001Z"),
        ("details", {"n": 0.0}),
        ("seq", 1),
        ("eventId", "e1"),
        ("idempotencyKey", "key-1"),
    ]
    assert list(second) == ["type", "timestamp", "details", "seq", "eventId"]
    assert [line["seq"] for line in lines(path / RESPONSES)] == [2, 5]
    assert json.loads((path / "state.json").read_text()) == {**STATE.document, "sessionId": "s1", "version": 3}
    assert json.loads((path / "initial.json").read_text()) == {"input": "hi"}
    assert json.loads((path / "final.json").read_text()) == {"status": "completed"}
    metadata = json.loads((path / "metadata.json").read_text())
    assert (metadata["userId"], metadata["tags"], metadata["metadata"]) == ("ada", ["t"], {"a": 1})


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    events = mixed(9)
    export(tmp_path, events)
    [path] = session_folders(tmp_path)
    found = read_folder(path)
    assert list(found.events) == [
        NewEvent(event.type, event.payload, event.event_id, event.idempotency_key, event.parent_id, event.created_at)
        for event in entries(events)
    ]
    assert (found.session_id, found.state, found.initial) == ("s1", STATE.document, {"input": "hi"})
    assert (found.final, found.skipped) == ({"status": "completed"}, [])
    assert found.metadata is not None
    assert found.metadata["metadata"] == {"a": 1}


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
VALUES = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(VALUES, st.sampled_from([None, 1]), st.sampled_from(["a", "response", types.RESPONSE]))))
def test_every_value_and_type_comes_back(tmp_path: Path, bodies: list[tuple[Any, int | None, str]]) -> None:
    path = tmp_path / "sessions" / "s1"
    for old in path.iterdir() if path.exists() else ():
        old.unlink()
    events = log([json.dumps(value, indent=indent).encode() for value, indent, _ in bodies])
    events = [dataclasses.replace(event, type=body[2]) for event, body in zip(events, bodies, strict=True)]
    export(tmp_path, events)
    found = list(read_folder(path).events)
    assert [event.type for event in found] == [event.type for event in events]
    for event, back in zip(events, found, strict=True):
        assert strict_json.same_value(event.payload, back.payload)


def test_going_on_where_the_last_writer_stopped(tmp_path: Path) -> None:
    events = mixed(30)
    export(tmp_path, events)
    whole = {name: (tmp_path / "sessions" / "s1" / name).read_bytes() for name in (ACTIONS, RESPONSES)}
    for stop in (0, 1, 2, 3, 7, 29, 30):
        root = tmp_path / f"until-{stop}"
        export(root, events[:stop])
        with FolderWriter(root, "s1") as writer:
            assert writer.seq == stop
            for event in events:  # those that are there already change nothing
                writer.event(event)
            writer.documents(SESSION, STATE)
        assert {name: (root / "sessions" / "s1" / name).read_bytes() for name in whole} == whole


def test_a_torn_line_is_cut_off_and_written_again(tmp_path: Path) -> None:
    """Whatever a crash leaves of either file, with or without the documents, the next writer makes it whole."""
    events = mixed(9)
    export(tmp_path, events)
    path = tmp_path / "sessions" / "s1"
    whole = {name: (path / name).read_bytes() for name in (ACTIONS, RESPONSES)}
    for name, content in whole.items():
        for length in range(0, len(content), 5):
            for documents in (True, False):
                (path / name).write_bytes(content[:length])
                if not documents:
                    (path / "metadata.json").unlink()
                export(tmp_path, events)
                assert {name: (path / name).read_bytes() for name in whole} == whole, (name, length)


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.store.portable.test_session_folders import mixed
from holdfast.store.portable import FolderWriter
with FolderWriter(Path(sys.argv[1]), "s1") as writer:
    for number, event in enumerate(mixed(3000), 1):
        writer.event(event)
        if number == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("number", [700, 2999])
def test_a_killed_writer_leaves_what_the_next_one_completes(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "killed"), str(number)]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], check=False)
    assert done.returncode == -9
    export(tmp_path / "killed", mixed(3000))
    export(tmp_path / "whole", mixed(3000))
    for name in (ACTIONS, RESPONSES):
        found, whole = (tmp_path / kind / "sessions" / "s1" / name for kind in ("killed", "whole"))
        assert found.read_bytes() == whole.read_bytes()


def test_a_long_last_line_is_found(tmp_path: Path) -> None:
    events = log([b"1", b'"' + b"x" * 300_000 + b'"', b"3"])
    export(tmp_path, events[:2])
    with FolderWriter(tmp_path, "s1") as writer:
        assert writer.seq == 2
    with (tmp_path / "sessions" / "s1" / ACTIONS).open("ab") as file:
        file.write(b"y" * 200_000)
    export(tmp_path, events)
    assert [line["seq"] for line in lines(tmp_path / "sessions" / "s1" / ACTIONS)] == [1, 2, 3]


def test_lines_are_on_the_disk_before_any_document_and_the_one_that_counts_them_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = noted(monkeypatch)
    export(tmp_path, mixed())
    path = tmp_path / "sessions" / "s1"
    sizes = {name: (path / name).stat().st_size for name in (ACTIONS, RESPONSES)}
    assert sorted(steps[:2]) == [("sync", path / name, size) for name, size in sizes.items()]
    named = [step.path.name for step in steps if step.what == "rename"]
    assert (len(named), named[-1]) == (4, "metadata.json")
    assert steps[-1] == ("sync", path.parent, 0), "the folder's own name"


def test_one_writer_at_a_time_in_order_and_never_through_a_link(tmp_path: Path) -> None:
    events = mixed()
    with FolderWriter(tmp_path, "s1") as writer:
        with pytest.raises(Conflict):
            FolderWriter(tmp_path, "s1")
        with pytest.raises(InvalidInput, match="cannot come after"):
            writer.event(events[1])
    for name in ("..", "a/b", ""):
        with pytest.raises(InvalidInput):
            FolderWriter(tmp_path, name)
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "sessions" / "link").symlink_to(outside)
    with pytest.raises(InvalidInput, match="link"):
        FolderWriter(tmp_path, "link")
    (tmp_path / "sessions" / "s2").mkdir()
    (tmp_path / "sessions" / "s2" / ACTIONS).symlink_to(outside / "file")
    with pytest.raises(InvalidInput):
        FolderWriter(tmp_path, "s2")
    (tmp_path / "sessions" / "s1" / "state.json.tmp").symlink_to(outside / "file")
    with FolderWriter(tmp_path, "s1") as writer, pytest.raises(InvalidInput):
        writer.documents(SESSION, STATE)
    assert not list(outside.iterdir())


def test_lines_that_an_export_did_not_write_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "sessions"
    path.mkdir()
    folder(path, actions='{"type":"mine"}\n')
    with pytest.raises(BadArchive, match="no seq"):
        FolderWriter(tmp_path, "s1")
    assert (path / "s1" / ACTIONS).read_text() == '{"type":"mine"}\n'


def test_an_erased_event_is_shown_as_erased_and_not_imported(tmp_path: Path) -> None:
    export(tmp_path, log([b"1", None, b"3"]))
    path = tmp_path / "sessions" / "s1"
    assert lines(path / ACTIONS)[1]["details"] is None
    found = read_folder(path)
    assert [event.payload for event in found.events] == [b"1", b"3"]
    assert [(skip.file, skip.line) for skip in found.skipped] == [(ACTIONS, 2)]


def test_a_torn_last_line_is_skipped_and_reported(tmp_path: Path) -> None:
    whole = '{"type":"a","details":{"é":1}}\n{"type":"b"}\n'
    torn = '{"type":"c","details":{"text":"é'.encode()
    for length in range(1, len(torn) + 1):
        found = read_folder(folder(tmp_path, actions=whole.encode() + torn[:length]))
        assert [event.type for event in found.events] == ["a", "b"]
        [skipped] = found.skipped
        assert (skipped.file, skipped.line) == (ACTIONS, 3)
        assert "torn" in skipped.reason
    found = read_folder(folder(tmp_path, actions=whole.encode() + bytes(4096)))
    assert [event.type for event in found.events] == ["a", "b"]
    assert len(found.skipped) == 1
    found = read_folder(folder(tmp_path, actions=whole + '{"type":"c"}'))  # whole, only its end is missing
    assert [event.type for event in found.events] == ["a", "b", "c"]
    assert not found.skipped


MIDDLE = ['{"type":"a"', "", "[]", '{"type":"b","type":"c"}', '{"details":{}}', '{"type":1}', '{"type":"x","seq":"1"}',
          '{"type":"x","timestamp":"yesterday"}', '{"type":"x","timestamp":-1}', '{"type":"x","timestamp":1e300}',
          '{"type":"holdfast.state_updated"}', '{"type":"x","eventId":""}', '{"type":"x","idempotencyKey":"\\u0000"}',
          '{"type":"x","details":NaN}', "\0\0\0"]  # fmt: skip


@pytest.mark.parametrize("line", MIDDLE)
def test_a_line_that_is_wrong_anywhere_else_is_refused_by_file_and_line(tmp_path: Path, line: str) -> None:
    found = read_folder(folder(tmp_path, actions=f'{{"type":"a"}}\n{line}\n{{"type":"b"}}\n'))
    with pytest.raises(BadArchive) as refused:
        list(found.events)
    assert (refused.value.details["member"], refused.value.details["line"]) == (ACTIONS, 2)


def test_lines_of_other_programs(tmp_path: Path) -> None:
    actions = [
        {"type": "team_spawn", "timestamp": "2026-02-13T10:00:00Z", "details": {"team": 1}},
        {"type": "bare"},
        {"type": "flat", "team": 2},
        {"type": "nothing", "details": None},
        {"type": "response", "timestamp": 1_770_976_800_500, "details": "said"},
        {"type": "holdfast.response", "details": "said too"},
    ]
    responses = [
        {"timestamp": "2026-02-13T10:00:00.250+00:00", "content": "hello"},
        {"type": "final", "details": 1, "timestamp": "2026-02-13T12:00:00+01:00"},
    ]
    text, said = ("".join(json.dumps(line) + "\n" for line in found) for found in (actions, responses))
    events = list(read_folder(folder(tmp_path, actions=text, responses=said)).events)
    assert [(event.type, strict_json.parse(event.payload)) for event in events] == [
        ("team_spawn", {"team": 1}),
        ("bare", {}),
        ("flat", {"team": 2}),
        ("nothing", None),
        (types.RESPONSE, {"content": "hello"}),
        (types.RESPONSE, "said"),
        (types.RESPONSE, "said too"),
        (types.RESPONSE, {"type": "final", "details": 1}),
    ]
    assert [event.created_at for event in events][:2] == [1_770_976_800_000, None]


def test_reading_twice_gives_the_same_ids_and_every_line_its_own(tmp_path: Path) -> None:
    same = '{"type":"a","details":{}}\n' * 3
    path = folder(tmp_path, actions=same, responses=same)
    first = [event.event_id for event in read_folder(path).events]
    assert first == [event.event_id for event in read_folder(path).events]
    assert len(set(first)) == 6
    longer = [event.event_id for event in read_folder(folder(tmp_path, actions=same * 2, responses=same)).events]
    assert set(first) < set(longer)
    path.rename(tmp_path / "s2")
    assert not set(first) & {event.event_id for event in read_folder(tmp_path / "s2").events}


def test_links_and_other_things_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"type":"secret"}\n')
    path = folder(tmp_path)
    for name in (ACTIONS, "state.json"):
        (path / name).symlink_to(secret)
        with pytest.raises(BadArchive):
            list(read_folder(path).events)
        (path / name).unlink()
        os.mkfifo(path / name)
        with pytest.raises(BadArchive):
            list(read_folder(path).events)
        (path / name).unlink()
        (path / name).mkdir()
        with pytest.raises(BadArchive):
            list(read_folder(path).events)
        (path / name).rmdir()
    (tmp_path / "link").symlink_to(path)
    for wrong in (tmp_path / "link", secret, tmp_path / "none", tmp_path / "a b", tmp_path / ".."):
        with pytest.raises(BadArchive):
            read_folder(wrong)
    with pytest.raises(BadArchive):
        session_folders(tmp_path / "none")


def test_documents_that_are_torn_or_of_another_kind_are_refused(tmp_path: Path) -> None:
    for name, text in (("state", '{"a":'), ("state", "[]"), ("metadata", "1"), ("initial", ""), ("final", "{")):
        path = folder(tmp_path, **{name: text})
        with pytest.raises(BadArchive) as refused:
            read_folder(path)
        assert refused.value.details["member"] == f"{name}.json"
        (path / f"{name}.json").unlink()
    found = read_folder(folder(tmp_path))
    assert (list(found.events), found.state, found.metadata, found.initial, found.final) == ([], None, None, None, None)
