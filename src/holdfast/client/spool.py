"""A spool: what one program has accepted and the service has not acknowledged, in order, on disk.

It is a folder of segments and a position: what lies before it is settled. A line is in its file before `append`
returns, so it outlives the program. The position may lag behind, never run ahead: then lines are sent again, and the
service knows them by their keys. The owner's lock says whether the program lives; the kernel lets go of it however the
program ends.

The files are the truth: an append is one write and changes nothing in memory, so it can be interrupted between any two
statements, and a signal handler or a finalizer can append in the midst of it. All else that changes is changed by the
thread that delivers, one state in place of another. It waits for an append only to begin a segment or to close, and not
for long: a handler that has interrupted the append may be waiting for the delivery.
"""

import contextlib
import fcntl
import os
import shutil
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.client import segments
from holdfast.client.errors import AgentClosed, SpoolFull, SpoolUnavailable
from holdfast.client.segments import MARK, POSITION, SpoolLine, SpoolPlace, SpoolSize

OWNER = "owner"
HEIR = "heir"
SEGMENT_BYTES = 1024 * 1024
"""A segment that has as many is followed by another; it is removed when all of it is settled."""
APPEND_WAIT = 0.05
"""The longest wait, in seconds, of the thread that delivers for one that appends."""


class SegmentMissing(Exception):
    """Somebody has removed a segment; `lines` of it were not settled."""

    def __init__(self, lines: int) -> None:
        super().__init__(lines)
        self.lines = lines


class SpoolState(NamedTuple):
    """Where a spool begins and ends."""

    start: SpoolPlace
    settled: int
    """The lines of the first segment before the start."""
    full: Mapping[int, SpoolSize]
    """The segments from the start's on that nothing is appended to any more."""
    last: int
    """The segment that is appended to; of an heir, the one that would be next."""
    file: int
    """The last segment's file; -1 if there is none."""

    def left(self) -> SpoolSize:
        """How much is not settled."""
        found = [*self.full.values()]
        if self.file >= 0:
            found.append(segments.measure_file(self.file))
        whole = segments.total(found)
        return SpoolSize(max(whole.lines - self.settled, 0), max(whole.size - self.start.offset, 0))

    def used(self) -> int:
        """The bytes on the disk, but for a segment's worth that is settled and will be gone with its segment."""
        whole = sum(each.size for each in self.full.values()) + self.end().offset
        return whole - min(self.start.offset, SEGMENT_BYTES)

    def end(self) -> SpoolPlace:
        """The place behind everything."""
        return SpoolPlace(self.last, os.fstat(self.file).st_size if self.file >= 0 else 0)


class Spool:
    """A spool whose lock, the owner's or the heir's, this process holds. Any thread may append while one delivers."""

    def __init__(self, path: Path, lock: int, file: int = -1) -> None:
        self.path = path
        self._lock = lock
        self._appending = threading.RLock()
        start = segments.read_position(path)
        found = [number for number in segments.numbers(path) if number >= start.segment]
        before = segments.measure_segment(path, start.segment, 0, start.offset)
        if file >= 0:
            self._state = SpoolState(start, before.lines, {}, start.segment, file)
        else:
            full = {number: segments.measure_segment(path, number) for number in found}
            self._state = SpoolState(start, before.lines, full, max(found, default=start.segment) + 1, -1)
        self.reached = start
        """What lies before it is settled, or was never accepted."""
        self._short_of_room = False
        self._closed = False
        self._synced = self._state.last
        _open_spools.add(self)

    @classmethod
    def create(cls, folder: Path, name: str) -> "Spool":
        """A new spool, locked before anybody can see it."""
        making, made = folder / f".{name}", folder / name
        files: list[int] = []
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            making.mkdir(mode=0o700)
            files.append(os.open(making / OWNER, os.O_RDWR | os.O_CREAT, 0o600))
            fcntl.flock(files[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
            files.append(segments.create(making, 1))
            segments.write_position(making, SpoolPlace(1, 0))
            making.rename(made)
            return cls(made, *files)
        except BaseException as error:
            for each in (making, made):
                shutil.rmtree(each, ignore_errors=True)
            for file in files:
                os.close(file)
            if not isinstance(error, OSError):
                raise
            raise SpoolUnavailable(f"cannot spool to {folder}: {error.strerror}", path=str(folder)) from error

    @property
    def left(self) -> SpoolSize:
        """How much is not settled."""
        with self._appending:
            return self._state.left()

    @property
    def end(self) -> SpoolPlace:
        """The place behind everything that was appended."""
        with self._appending:
            return self._state.end()

    @property
    def has_more(self) -> bool:
        """Whether there is something that was not looked at; for the thread that delivers."""
        return self.reached < self._state.end()

    def append(self, line: bytes, most: int = sys.maxsize) -> bool:
        """Keep a line, its end included, unless more than `most` bytes were used then; whether it is kept.

        SpoolFull if the disk does not take it.
        """
        with self._appending:
            self._check_open()
            if self._state.used() + len(line) > most:
                return False
            try:
                written = os.write(self._state.file, MARK + line)
            except OSError as error:
                self._short_of_room = True
                raise SpoolFull(f"cannot write to {self.path}: {error.strerror}", path=str(self.path)) from error
            if written <= len(line):
                self._short_of_room = True
                raise SpoolFull(f"{self.path} took {written} bytes of {len(line) + 1}", path=str(self.path))
            if self._closed:  # by a handler that has interrupted this call, or while it came here
                self.close()
            return True

    def peek(self, most: int) -> list[SpoolLine]:
        """The oldest lines that are not settled, at most so many, at least one if there is any; or SegmentMissing."""
        while True:
            start, end = self._state.start, self._state.end()
            stop = end.offset if start.segment == end.segment else None
            try:
                lines = segments.read_lines(self.path, start, stop, most) if start < end else []
            except FileNotFoundError:
                self._pass_missing()
                continue
            if lines or start.segment >= end.segment:
                self.reached = self.reached if lines else end
                return lines
            self._move(SpoolPlace(start.segment + 1, 0), 0)

    def settle(self, lines: Sequence[SpoolLine]) -> None:
        """The first of what is left are done with: they are not read again, also not by the next process."""
        self._move(lines[-1].end, self._state.settled + len(lines))

    def renew(self) -> None:
        """Begin a segment if the last one is long enough, or if all of it is settled and the disk was full."""
        end = self._state.end()
        useless = self._short_of_room and self.reached == end and end.offset > 0
        if self._state.file >= 0 and (useless or end.offset >= SEGMENT_BYTES):
            with contextlib.suppress(OSError):
                self._begin_segment()

    def sync(self) -> None:
        """Put what was appended onto the disk itself, so that it outlives the machine's power too."""
        last = self._state.last
        for number in range(self._synced, last + 1):
            with contextlib.suppress(FileNotFoundError):
                segments.sync(self.path / segments.name(number))
        segments.sync(self.path)
        self._synced = last

    def close(self) -> None:
        """Let go of the spool: an empty one is removed, any other is for the next program.

        One that is appended to, by a call that a signal handler interrupted, is let go by that call.
        """
        self._closed = True
        if not self._appending.acquire(timeout=APPEND_WAIT):
            return
        try:
            left = self._state.left()
            if left.lines == 0:
                for name in [*map(segments.name, segments.numbers(self.path)), POSITION, HEIR, OWNER]:
                    (self.path / name).unlink(missing_ok=True)
                with contextlib.suppress(OSError):  # another program looks into it just now, and will remove it
                    self.path.rmdir()
            self.forget()
            start, last = self._state.start, self._state.last
            self._state = SpoolState(SpoolPlace(start.segment, 0), 0, {last: left} if left.lines else {}, last + 1, -1)
        finally:
            self._appending.release()

    def forget(self) -> None:
        """Close the files and nothing else: what is left of the spool in a process that was forked."""
        for file in (self._state.file, self._lock):
            if file >= 0:
                os.close(file)
        self._state = self._state._replace(file=-1)
        self._lock = -1
        _open_spools.discard(self)

    def _check_open(self) -> None:
        if self._closed:
            raise AgentClosed("the agent was closed")

    def _begin_segment(self) -> None:
        """Begin a segment, if nobody appends just now."""
        if not self._appending.acquire(timeout=APPEND_WAIT):
            return
        try:
            before = self._state
            file = segments.create(self.path, before.last + 1)
            self._state = before._replace(last=before.last + 1, file=file)
            full = {**before.full, before.last: segments.measure_file(before.file)}
            self._state = self._state._replace(full=full)
            self._short_of_room = False
            os.close(before.file)
        finally:
            self._appending.release()

    def _pass_missing(self) -> None:
        """Go on behind a segment that is not there; SegmentMissing if it had lines that were not settled."""
        state = self._state
        number = state.start.segment
        found = segments.measure_file(state.file) if number == state.last else state.full.get(number, SpoolSize(0, 0))
        if number == state.last:
            with contextlib.suppress(OSError):
                self._begin_segment()
        behind = SpoolPlace(number + 1, 0) if number < self._state.last else SpoolPlace(number, found.size)
        self._move(behind, 0 if behind.segment > number else found.lines)
        if found.lines > state.settled:
            raise SegmentMissing(found.lines - state.settled)

    def _move(self, start: SpoolPlace, settled: int) -> None:
        """Make room first: where there is none, the position is behind until there is, and nothing is lost by that."""
        before = self._state.start
        full = {number: each for number, each in self._state.full.items() if number >= start.segment}
        self._state = self._state._replace(start=start, settled=settled, full=full)
        self.reached = max(self.reached, start)
        with contextlib.suppress(OSError):
            for number in range(before.segment, start.segment):
                (self.path / segments.name(number)).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            segments.write_position(self.path, start)


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
        return Spool(path, lock)
    except OSError:
        os.close(lock)
        raise


_open_spools: "weakref.WeakSet[Spool]" = weakref.WeakSet()


def _forget_all() -> None:
    """A forked child holds none of its parent's locks: they would outlive the parent."""
    for spool in list(_open_spools):
        spool.forget()


os.register_at_fork(after_in_child=_forget_all)
