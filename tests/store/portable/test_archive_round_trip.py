"""What goes into an archive comes out of it byte for byte, and the same content gives the same archive."""

import asyncio
import fcntl
import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.portable.sample_archives import (
    BLOB,
    DIGEST,
    MEMORY,
    SESSIONS,
    content,
    header,
    log,
    parts,
    sealed,
    written,
)
from tests.store.syncs import noted

from holdfast.core import Event, strict_json
from holdfast.core.errors import Conflict, Corrupt, InvalidInput, InvalidJson, TooLarge
from holdfast.store.portable import ArchiveReader, ArchiveWriter, Limits, SessionHeader, Totals, write_archive

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
SPELLINGS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"indent": 1}, {"ensure_ascii": False}, {"separators": (",", ":")}]
)
PADDING = st.text(" \t\r\n", max_size=3)


@st.composite
def payloads(draw: st.DrawFn) -> bytes:
    """JSON bytes that the store keeps, in every spelling there is."""
    raw = (draw(PADDING) + json.dumps(draw(VALUES), **draw(SPELLINGS)) + draw(PADDING)).encode()
    try:
        return strict_json.check(raw)
    except InvalidJson:
        return b"null"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.none() | payloads(), max_size=6))
def test_every_payload_comes_back_byte_for_byte(tmp_path: Path, bodies: list[bytes | None]) -> None:
    events = log(bodies)
    head = header("s", events, ["b", "a"])
    path = tmp_path / "a"
    path.write_bytes(written([(head, events)]))
    _, [(found, again)], attachments, memories = content(path)
    assert again == events
    assert [event.payload for event in again] == [body or b"" for body in bodies]
    assert sorted(found.routes, key=lambda route: route.key) == sorted(head.routes, key=lambda route: route.key)
    assert (attachments, memories) == ([(DIGEST, BLOB)], [MEMORY])
    assert written([(found, again)]) == path.read_bytes()


ODD = [
    b'{"a":1.0}', b'{"a":1}', b"1e0", b"-0.0", b"9" * 4300, b'"\\u0041"', b'"\\/"', b'"\xe2\x80\xa8"', b' {"a":[ ]} ',
    b"\t1\t", b'{\n"a":\r\n1}', b'"\x7f"', b'"\\",\\"payload\\":2}"', b"[" * 64 + b"]" * 64,
]  # fmt: skip


@pytest.mark.parametrize("payload", ODD, ids=lambda raw: repr(raw[:20]))
def test_odd_spellings_are_kept(tmp_path: Path, payload: bytes) -> None:
    events = log([payload, b"1"])
    (tmp_path / "a").write_bytes(written([(header("s", events), events)]))
    assert content(tmp_path / "a")[1][0][1] == events


def test_the_same_content_gives_the_same_bytes_and_says_what_it_holds(tmp_path: Path) -> None:
    first = written()
    (tmp_path / "a").write_bytes(first)
    totals, sessions, _, _ = content(tmp_path / "a")
    assert sessions == SESSIONS
    assert written(sessions) == first
    assert totals == Totals(6, 3, 8, 1, 1, sum(map(len, parts().values())))
    assert sealed(parts()) == first  # the format, spelled by hand


def test_names_with_every_character_come_back(tmp_path: Path) -> None:
    name = 'a\nb\r"\\\u2028\x01é😀' * 30
    [event] = log([b"1"], kind=name)
    (tmp_path / "a").write_bytes(written([(header("s", [event], [name]), [event])]))
    assert content(tmp_path / "a")[1] == [(header("s", [event], [name]), [event])]


def test_other_tools_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(written())
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()[:-1]} == parts()
        assert json.loads(archive.read("manifest.json"))["totals"]["events"] == 8


def test_it_can_be_written_to_a_pipe(tmp_path: Path) -> None:
    events = log([b'"' + os.urandom(1000).hex().encode() + b'"'] * 200)
    read_end, write_end = os.pipe()
    received = io.BytesIO()
    with os.fdopen(read_end, "rb") as source:
        reader = threading.Thread(target=lambda: received.write(source.read()))
        reader.start()
        with (
            os.fdopen(write_end, "wb") as sink,
            ArchiveWriter(sink) as archive,
            archive.session(header("s", events)) as session,
        ):
            for event in events:
                session.event(event)
        reader.join()
    (tmp_path / "a").write_bytes(received.getvalue())
    assert content(tmp_path / "a")[1] == [(header("s", events), events)]


def test_the_densest_content_that_a_session_can_have_is_not_taken_for_a_bomb(tmp_path: Path) -> None:
    events = log([b'"' + b"a" * (16 * 1024 * 1024 - 2) + b'"'] * 2 + [b" " * (16 * 1024 * 1024 - 2) + b"\n1"])
    (tmp_path / "a").write_bytes(written([(header("s", events), events)]))
    assert content(tmp_path / "a")[1] == [(header("s", events), events)]


@pytest.mark.long
def test_more_than_65535_members(tmp_path: Path) -> None:
    sessions: list[tuple[SessionHeader, list[Event]]] = [(header(f"s{number:06d}", []), []) for number in range(66_000)]
    path = tmp_path / "a"
    path.write_bytes(written(sessions, (), ()))
    with ArchiveReader(path) as archive:
        assert archive.totals.sessions == 66_000
        assert sum(not list(session.events) for session in archive.sessions()) == 66_000
    with zipfile.ZipFile(path) as other:
        assert len(other.namelist()) == 66_002


MEASURE = """
import resource, sys
from pathlib import Path
from tests.store.portable.sample_archives import header, log
from holdfast.store.portable import ArchiveReader, write_archive
path, count = Path(sys.argv[1]), int(sys.argv[2])
body = b'"' + b"0123456789" * 1_000 + b'"'
events = log([body] * 100)
with write_archive(path) as archive:
    for number in range(count):
        with archive.session(header(f"s{number:06d}", events)) as session:
            for event in events:
                session.event(event)
with ArchiveReader(path) as archive:
    assert archive.check().events == count * 100
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.long
def test_memory_does_not_grow_with_the_archive(tmp_path: Path) -> None:
    """One megabyte of log, and two hundred."""
    peaks = []
    for count in (1, 200):
        command = [sys.executable, "-c", MEASURE, str(tmp_path / "a"), str(count)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[3], check=False)
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] + 40, peaks


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"before")
    with pytest.raises(RuntimeError), write_archive(path):
        raise RuntimeError
    assert path.read_bytes() == b"before"
    with pytest.raises(Corrupt), write_archive(path) as archive, archive.session(SESSIONS[1][0]):
        pass
    with write_archive(path) as archive:
        assert path.read_bytes() == b"before"
        with pytest.raises(Conflict, match="another process"), write_archive(path):
            pass
    with ArchiveReader(path) as found:
        assert found.check() == Totals(1, bytes=len(parts()["holdfast.json"]))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]
    with pytest.raises(InvalidInput, match="cannot write"), write_archive(tmp_path / "none" / "a"):
        pass


def test_a_file_that_was_finished_between_opening_and_locking_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock = tmp_path / "a", fcntl.flock
    (tmp_path / "a.tmp").write_bytes(b"of another writer")

    def late(file: int, how: int) -> None:
        if not path.exists():
            (tmp_path / "a.tmp").rename(path)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with write_archive(path):
        assert path.read_bytes() == b"of another writer"


@pytest.mark.parametrize("error", [ConnectionResetError, KeyboardInterrupt, asyncio.CancelledError])
def test_an_error_of_the_callers_own_stays_its_own(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), write_archive(tmp_path / "a"):
        raise error
    assert not list(tmp_path.iterdir())


def test_an_archive_is_on_the_disk_before_it_has_its_name_and_its_name_is_before_this_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = noted(monkeypatch)
    with write_archive(tmp_path / "a"):
        assert steps == []
    size = (tmp_path / "a").stat().st_size
    assert steps == [("sync", tmp_path / "a.tmp", size), ("rename", tmp_path / "a", size), ("sync", tmp_path, 0)]


def test_a_broken_log_is_not_archived() -> None:
    head, events = SESSIONS[-1]
    forged = Event(1, "e1", "note", b'{"a":2}', events[0].created_at, events[0].hash, None, "key-1")
    attempts: list[list[Event]] = [events[:-1], events[1:], [forged, *events[1:]], [*events, events[-1]]]
    for attempt in attempts:
        with pytest.raises(Corrupt), ArchiveWriter(io.BytesIO()) as archive, archive.session(head) as session:
            for event in attempt:
                session.event(event)
    with pytest.raises(Corrupt), ArchiveWriter(io.BytesIO()) as archive, archive.session(head) as session:
        with pytest.raises(Corrupt) as refused:
            session.event(forged)
        assert refused.value.details == {"session_id": "plain", "seq": 1}
    with pytest.raises(Corrupt), ArchiveWriter(io.BytesIO()) as archive:
        archive.attachment(hashlib.sha256(b"x").hexdigest(), [b"y"])


def test_members_come_in_order_and_within_the_limits() -> None:
    def attempt(*steps: Any, limits: Limits | None = None) -> None:
        with ArchiveWriter(io.BytesIO(), limits or Limits()) as archive:
            for step in steps:
                step(archive)

    def session(name: str) -> Any:
        return lambda archive: archive.session(header(name, [])).__enter__() and None

    def whole(name: str) -> Any:
        def run(archive: ArchiveWriter) -> None:
            with archive.session(header(name, [])):
                pass

        return run

    def attachment(data: bytes) -> Any:
        return lambda archive: archive.attachment(hashlib.sha256(data).hexdigest(), [data])

    def memory(archive: ArchiveWriter) -> None:
        archive.memory(b"1")

    one, two = sorted([b"x", b"y"], key=lambda data: hashlib.sha256(data).digest())
    attempt(whole("a"), whole("b"), attachment(one), attachment(two), memory, memory)
    refused: list[tuple[Any, ...]] = [
        (whole("b"), whole("a")),
        (whole("a"), whole("a")),
        (attachment(two), attachment(one)),
        (attachment(one), attachment(one)),
        (attachment(one), whole("a")),
        (memory, whole("a")),
        (memory, attachment(one)),
        (session("a"), whole("b")),
        (lambda archive: archive.memory(b"1\n"),),
        (lambda archive: archive.memory(b"{"),),
        (whole("../x"),),
    ]
    for steps in refused:
        with pytest.raises(InvalidInput):
            attempt(*steps)
    for limits in (Limits(members=3), Limits(inflated_bytes=400), Limits(line_bytes=20)):
        with pytest.raises(TooLarge):
            attempt(whole("a"), whole("b"), whole("c"), limits=limits)
