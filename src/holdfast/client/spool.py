"""A spool: what one program has accepted and the service has not acknowledged, in order, on disk.

It is a folder of numbered segments, each a file of lines, and a position: what lies before it is settled. A line is in
its file before `append` returns, so it outlives the program. The position may lag behind, never run ahead: then lines
are sent again, and the service knows them by their keys. The owner's lock says whether the program lives; the kernel
lets go of it however the program ends.
"""

import contextlib
import fcntl
import os
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.client.errors import SpoolFull, SpoolUnavailable

OWNER = "owner"
HEIR = "heir"
POSITION = "position"
SEGMENT_BYTES = 1024 * 1024
"""A segment that has as many is followed by another; it is removed when all of it is settled."""
PEEK_BYTES = 1024 * 1024


class Place(NamedTuple):
    """A byte of a spool."""

    segment: int
    offset: int


class Line(NamedTuple):
    """A line of a spool, without its end, and the place behind it."""

    raw: bytes
    end: Place


class Measure(NamedTuple):
    """How much of a spool is not settled."""

    lines: int
    size: int


class Spool:
    """A spool whose lock, the owner's or the heir's, this process holds. One thread may append while one reads."""

    def __init__(self, path: Path, lock: int, *, grows: bool) -> None:
        self.path = path
        self._lock = lock
        self._mutex = threading.Lock()
        self._start = _position(path)
        self._end = Place(max([*_segments(path), self._start.segment]), 0)
        self._grows = grows
        self._left = measure(path)
        self._writer = -1
        self._synced = self._end.segment
        _open_spools.add(self)

    @classmethod
    def create(cls, folder: Path, name: str) -> "Spool":
        """A new spool, locked before anybody can see it."""
        making, made = folder / f".{name}", folder / name
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            making.mkdir(mode=0o700)
            lock = os.open(making / OWNER, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            making.rename(made)
        except OSError as error:
            raise SpoolUnavailable(f"cannot spool to {folder}: {error.strerror}", path=str(folder)) from error
        return cls(made, lock, grows=True)

    @property
    def left(self) -> Measure:
        """How much is not settled."""
        return self._left

    def append(self, line: bytes) -> None:
        """Keep a line, its end included; SpoolFull if the disk takes no more, and then none of it is kept."""
        with self._mutex:
            try:
                if self._writer < 0 or self._end.offset >= SEGMENT_BYTES:
                    self._begin_segment()
                _write(self._writer, line)
            except OSError as error:
                self._undo()
                raise SpoolFull(f"cannot write to {self.path}: {error.strerror}", path=str(self.path)) from error
            self._end = Place(self._end.segment, self._end.offset + len(line))
            self._left = Measure(self._left.lines + 1, self._left.size + len(line))

    def peek(self, most: int) -> list[Line]:
        """The oldest lines that are not settled, at most so many: at least one if there is any."""
        with self._mutex:
            start, end = self._start, self._end
        while True:
            stop = end.offset if self._grows and start.segment == end.segment else None
            lines = self._lines(start, stop, most)
            if lines or start.segment >= end.segment:
                return lines
            start = Place(start.segment + 1, 0)
            self._move(start, Measure(0, 0))

    def settle(self, lines: Sequence[Line]) -> None:
        """The first of what is left are done with: they are not read again, also not by the next process."""
        self._move(lines[-1].end, Measure(len(lines), sum(len(line.raw) + 1 for line in lines)))

    def give_up(self) -> int:
        """Count what is left as settled, because it is no longer there; how many lines that were."""
        with self._mutex:
            gone, self._left = self._left, Measure(0, 0)
        return gone.lines

    def sync(self) -> None:
        """Put what was appended onto the disk itself, so that it outlives the machine's power too."""
        with self._mutex:
            last = self._end.segment
        for number in range(self._synced, last + 1):
            with contextlib.suppress(FileNotFoundError):
                _sync(self.path / _name(number))
        _sync(self.path)
        self._synced = last

    def close(self) -> None:
        """Let go of the spool: an empty one is removed, any other is for the next program."""
        if self._left.lines == 0:
            for name in [*map(_name, _segments(self.path)), POSITION, HEIR, OWNER]:
                (self.path / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # another program looks into it just now, and will remove it
                self.path.rmdir()
        self.forget()

    def forget(self) -> None:
        """Close the files and nothing else: what is left of the spool in a process that was forked."""
        for file in (self._writer, self._lock):
            if file >= 0:
                os.close(file)
        self._writer = self._lock = -1
        _open_spools.discard(self)

    def _begin_segment(self) -> None:
        number = self._end.segment + (1 if self._end.offset else 0)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        file = os.open(self.path / _name(number), flags, 0o600)
        if self._writer >= 0:
            os.close(self._writer)
        self._writer, self._end = file, Place(number, 0)

    def _undo(self) -> None:
        """Take back the part of a line that was written; where that fails too, it stays at the end of its segment."""
        if self._writer < 0:
            return
        try:
            os.ftruncate(self._writer, self._end.offset)
        except OSError:
            os.close(self._writer)
            self._writer, self._end = -1, Place(self._end.segment + 1, 0)

    def _lines(self, start: Place, stop: int | None, most: int) -> list[Line]:
        """Whole lines from there on, within one segment."""
        try:
            with (self.path / _name(start.segment)).open("rb", buffering=0) as file:
                raw = _whole_lines(file.fileno(), start.offset, stop)
        except FileNotFoundError:
            return []
        lines, offset = [], start.offset
        for each in raw.split(b"\n", most)[:-1]:
            offset += len(each) + 1
            lines.append(Line(each, Place(start.segment, offset)))
        return lines

    def _move(self, start: Place, settled: Measure) -> None:
        with self._mutex:
            before, self._start = self._start, start
            self._left = Measure(self._left.lines - settled.lines, self._left.size - settled.size)
        _write_position(self.path, start)
        for number in range(before.segment, start.segment):
            (self.path / _name(number)).unlink(missing_ok=True)


def measure(path: Path) -> Measure:
    """How much of the spool in a folder is not settled."""
    start, lines, size = _position(path), 0, 0
    for number in _segments(path):
        if number < start.segment:
            continue
        with contextlib.suppress(FileNotFoundError), (path / _name(number)).open("rb") as file:
            file.seek(start.offset if number == start.segment else 0)
            while chunk := file.read(PEEK_BYTES):
                lines += chunk.count(b"\n")
                size += len(chunk)
    return Measure(lines, size)


def is_dead(path: Path) -> bool:
    """Whether the program that made the spool in a folder is gone."""
    try:
        lock = os.open(path / OWNER, os.O_RDONLY)
    except FileNotFoundError:
        return path.is_dir()  # somebody was killed while he removed it
    except OSError:
        return False  # it is not ours to look at
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def inherit(path: Path) -> Spool | None:
    """A dead program's spool, to be delivered here; None if it is gone, BlockingIOError if another has it."""
    try:
        lock = os.open(path / HEIR, os.O_RDWR | os.O_CREAT, 0o600)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_nlink == 0:  # its heir has just finished with it
            os.close(lock)
            return None
        return Spool(path, lock, grows=False)
    except OSError:
        os.close(lock)
        raise


def _name(segment: int) -> str:
    return f"{segment:08}.jsonl"


def _segments(path: Path) -> list[int]:
    return sorted(int(found.stem) for found in path.glob("*.jsonl") if found.stem.isdigit())


def _position(path: Path) -> Place:
    """Where the spool begins; what cannot be read is the beginning of all that is there."""
    first = Place(min(_segments(path), default=1), 0)
    try:
        segment, offset = (path / POSITION).read_bytes().split()
        return max(first, Place(int(segment), int(offset)))
    except (OSError, ValueError):
        return first


def _write_position(path: Path, place: Place) -> None:
    file = os.open(path / POSITION, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.pwrite(file, b"%08d %020d\n" % place, 0)
    finally:
        os.close(file)


def _whole_lines(file: int, offset: int, stop: int | None) -> bytes:
    """At least one whole line if there is one; half a line at the end was never accepted, and is left out."""
    size = PEEK_BYTES
    while True:
        wanted = size if stop is None else min(size, stop - offset)
        raw = os.pread(file, wanted, offset)
        cut = raw.rfind(b"\n") + 1
        if cut or len(raw) < size:
            return raw[:cut]
        size *= 4


def _write(file: int, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(file, rest) :]


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


_open_spools: "weakref.WeakSet[Spool]" = weakref.WeakSet()


def _forget_all() -> None:
    """A forked child holds none of its parent's locks: they would outlive the parent."""
    for spool in list(_open_spools):
        spool.forget()


os.register_at_fork(after_in_child=_forget_all)
