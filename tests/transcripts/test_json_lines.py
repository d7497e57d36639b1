"""Every byte of a file of lines is in its events, whatever the file has; and what is no line is said."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import NotFound
from holdfast.transcripts import TranscriptLine, UnreadableLine
from holdfast.transcripts.files.json_lines import LINE, TEXT, JsonLines, text_of
from holdfast.transcripts.files.line_file import PIECE, WHOLE, UnreadableFile


def lines_of(path: Path) -> JsonLines:
    return JsonLines(path, lambda line: line.get("uuid"), lambda line: line.get("parentUuid"))


def written_again(found: list[TranscriptLine | UnreadableLine], end: bytes = b"\n") -> bytes:
    """The file that the events stand for."""
    written = b""
    for each in found:
        assert each.event is not None
        if each.event.type == TEXT:
            body = json.loads(each.event.payload)
            written += text_of(body) + (b"" if body.get("more") else b"\n")
        else:
            written += each.event.payload + end
    return written


def ids(found: list[Any]) -> list[str]:
    return [each.event.event_id for each in found]


def test_a_line_is_known_by_its_uuid_or_by_its_place_and_never_by_its_body(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    same = b'{"type":"mode","mode":"normal"}\n'
    path.write_bytes(
        same + b'{"type":"user","uuid":"u1","parentUuid":"u0","timestamp":"2026-11-16T10:00:00Z"}\n' + same
    )
    found: list[Any] = list(lines_of(path).lines())
    assert ids(found) == ["line-@0", "line-u1", f"line-@{path.stat().st_size - len(same)}"]
    assert [each.event.type for each in found] == ["mode", "user", "mode"]
    assert found[1].event.parent_id == "line-u0"
    assert [each.event.created_at for each in found] == [None, 1794823200000, 1794823200000]


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b" ")),
            st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)).map(
                lambda value: json.dumps({"type": "x", "value": value}).encode()
            ),
            st.sampled_from(
                [b"", b" {}", b"{}\r", b'{"a":1,"a":2}', b"NaN", b"[" * 80 + b"]" * 80, b'{"type":"line_text"}']
            ),
        ),
        max_size=8,
    )
)
def test_any_file_of_ended_lines_can_be_written_again_byte_for_byte(tmp_path_factory: Any, lines: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("any") / "s.jsonl"
    whole = b"".join(line + b"\n" for line in lines)
    path.write_bytes(whole)
    found = list(lines_of(path).lines())
    end = b"\r\n" if lines and lines[0].endswith(b"\r") else b"\n"
    assert written_again(found, end) == whole
    assert len(set(ids(found))) == len(lines)


def test_lines_that_end_as_windows_ends_them_are_events_and_not_only_text(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"user"}\r\n{"type":"assistant"}\r\n{"type":"odd"}\n')
    found = list(lines_of(path).lines())
    assert [each.event.type for each in found if each.event] == [TEXT, "assistant", TEXT]
    assert written_again(found, b"\r\n") == path.read_bytes()


def test_what_is_no_json_is_said_with_its_line_and_kept_as_text(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"user"}\n{broken\n\xff\xfe\n{"a":NaN}\n{"a":1,"a":2}\n7\n')
    found = list(lines_of(path).lines())
    bad = [(each.line, type(each).__name__) for each in found]
    assert bad == [(1, "TranscriptLine"), *((n, "UnreadableLine") for n in (2, 3, 4, 5)), (6, "TranscriptLine")]
    assert written_again(found) == path.read_bytes()
    last = found[-1].event
    assert last is not None and (last.type, last.payload) == (LINE, b"7")


def test_a_torn_last_line_is_reported_and_one_that_is_whole_is_not(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"user"}\n{"type":"assi')
    torn = list(lines_of(path).lines())[-1]
    assert isinstance(torn, UnreadableLine) and torn.line == 2 and "torn" in torn.reason and torn.event is None
    path.write_bytes(b'{"type":"user"}\n{"type":"assistant"}')
    whole = list(lines_of(path).lines())[-1]
    assert isinstance(whole, TranscriptLine) and whole.event.type == "assistant"


def test_one_who_follows_gets_each_line_once_and_only_when_it_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"a"}\n{"type":')
    lines = lines_of(path)
    assert ids(list(lines.lines(to_the_end=False))) == ["line-@0"]
    assert list(lines.lines(to_the_end=False)) == []
    with path.open("ab") as file:
        file.write(b'"b"}\n{"type":"c"}\n')
    assert ids(list(lines.lines(to_the_end=False))) == ["line-@13", "line-@26"]
    assert lines.file.rewrites == 0


@pytest.mark.parametrize("kind", ["shorter", "replaced", "changed"])
def test_a_file_that_was_written_anew_is_read_from_its_beginning(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"a"}\n{"type":"b"}\n')
    lines = lines_of(path)
    list(lines.lines(to_the_end=False))
    if kind == "shorter":
        os.truncate(path, 13)
    elif kind == "replaced":
        other = tmp_path / "other"
        other.write_bytes(path.read_bytes())
        other.rename(path)
    else:
        path.write_bytes(b'{"type":"a"}\n{"type":"c"}\n')
    assert ids(list(lines.lines(to_the_end=False)))[0] == "line-@0"
    assert lines.file.rewrites == 1


def test_a_line_that_fits_no_event_comes_in_pieces_that_are_together_the_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    long = b'{"type":"user","text":"' + "ä€😀".encode() * (WHOLE // 8) + b'"}'
    path.write_bytes(b'{"type":"a"}\n' + long + b'\n{"type":"b"}\n')
    found = list(lines_of(path).lines())
    assert written_again(found) == path.read_bytes()
    assert len(found) == 2 + -(-len(long) // PIECE)
    assert all("text" in json.loads(each.event.payload) for each in found[1:-1] if each.event)
    assert len(set(ids(found))) == len(found)
    assert found[-1].line == 3


def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"{}\n")
    link, pipe = tmp_path / "link.jsonl", tmp_path / "pipe.jsonl"
    link.symlink_to(target)
    os.mkfifo(pipe)
    for path in (link, pipe, tmp_path):
        with pytest.raises(UnreadableFile):
            list(lines_of(path).lines())
    with pytest.raises(NotFound):
        list(lines_of(tmp_path / "nothing").lines())
