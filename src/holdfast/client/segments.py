"""Segments: the numbered files that a spool is made of, and its position among them.

A segment is a sequence of records, each a mark, a line and the line's end, and each written by one call. So a record
that a full disk has cut short ends where the next mark begins, and never damages its neighbour. Older spools have lines
without a mark, which are read as well.
"""

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

MARK = b"\t"
"""In no line: our JSON has it escaped. To readers of JSON it is a blank, so earlier clients read these lines too."""
POSITION = "position"
READ_BYTES = 1024 * 1024


class SpoolPlace(NamedTuple):
    """A byte of a spool."""

    segment: int
    offset: int


class SpoolLine(NamedTuple):
    """A line of a spool, without its mark and its end, and the place behind it."""

    raw: bytes
    end: SpoolPlace


class SpoolSize(NamedTuple):
    """How much there is."""

    lines: int
    size: int


def name(segment: int) -> str:
    """The name of a segment's file."""
    return f"{segment:08}.jsonl"


def numbers(path: Path) -> list[int]:
    """The segments in a folder, oldest first."""
    return sorted(int(found.stem) for found in path.glob("*.jsonl") if found.stem.isdigit())


def create(path: Path, segment: int) -> int:
    """A new segment's file, open to append to."""
    return os.open(path / name(segment), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)


def read_position(path: Path) -> SpoolPlace:
    """Where the spool begins; what cannot be read is the beginning of all that is there."""
    first = SpoolPlace(min(numbers(path), default=1), 0)
    try:
        segment, offset = (path / POSITION).read_bytes().split()
        return max(first, SpoolPlace(int(segment), int(offset)))
    except (OSError, ValueError):
        return first


def write_position(path: Path, place: SpoolPlace) -> None:
    """Keep where the spool begins; always as many bytes in the same place, so that a full disk takes them too."""
    said = b"%08d %020d\n" % place
    file = os.open(path / POSITION, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        if os.pwrite(file, said, 0) < len(said):
            os.ftruncate(file, 0)  # half of it and half of the last one could be a place further on
    finally:
        os.close(file)


def read_lines(path: Path, start: SpoolPlace, stop: int | None, most: int) -> list[SpoolLine]:
    """Whole lines of one segment, from a place to an offset or its end; FileNotFoundError if there is no segment."""
    file = os.open(path / name(start.segment), os.O_RDONLY)
    try:
        raw = _whole_lines(file, start.offset, stop)
    finally:
        os.close(file)
    lines, offset = [], start.offset
    for each in raw.split(b"\n", most)[:-1]:
        offset += len(each) + 1
        lines.append(SpoolLine(each.rpartition(MARK)[2], SpoolPlace(start.segment, offset)))
    return lines


def measure_file(file: int, start: int = 0, stop: int | None = None) -> SpoolSize:
    """How much of an open segment lies between two offsets."""
    lines = size = 0
    while stop is None or start + size < stop:
        wanted = READ_BYTES if stop is None else min(READ_BYTES, stop - start - size)
        chunk = os.pread(file, wanted, start + size)
        if not chunk:
            break
        lines += chunk.count(b"\n")
        size += len(chunk)
    return SpoolSize(lines, size)


def measure_segment(path: Path, segment: int, start: int = 0, stop: int | None = None) -> SpoolSize:
    """How much of a segment lies between two offsets; nothing if it is gone."""
    with contextlib.suppress(FileNotFoundError):
        file = os.open(path / name(segment), os.O_RDONLY)
        try:
            return measure_file(file, start, stop)
        finally:
            os.close(file)
    return SpoolSize(0, 0)


def measure(path: Path) -> SpoolSize:
    """How much of the spool in a folder is not settled."""
    start = read_position(path)
    return total(
        [
            measure_segment(path, number, start.offset if number == start.segment else 0)
            for number in numbers(path)
            if number >= start.segment
        ]
    )


def total(measures: list[SpoolSize]) -> SpoolSize:
    """How much several are together."""
    return SpoolSize(sum(each.lines for each in measures), sum(each.size for each in measures))


def sync(path: Path) -> None:
    """Put a file or a folder onto the disk itself."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _whole_lines(file: int, offset: int, stop: int | None) -> bytes:
    """At least one whole line if there is one; half a line at the end was never accepted, and is left out."""
    size = READ_BYTES
    while True:
        wanted = size if stop is None else min(size, stop - offset)
        raw = os.pread(file, wanted, offset)
        cut = raw.rfind(b"\n") + 1
        if cut or len(raw) < size:
            return raw[:cut]
        size *= 4
