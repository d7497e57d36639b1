"""A log in files: one grows until it is large enough, then the next begins, and the oldest go.

Each file is named by when it began, so a cursor, a file and a place in it, stays true while files come and go: whoever
reads on from one misses and repeats nothing, and is told when what follows it was removed. `gateway.log` is a link to
the file that grows. One process writes; a write that fails leaves the file as it was.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from holdfast.core import Clock, SystemClock
from holdfast.core.errors import InvalidInput

LINK = "gateway.log"
NAME = re.compile(r"gateway-(\d{13,16})\.log")
CURSOR = re.compile(r"(\d{13,16})\.(\d{1,16})", re.ASCII)
MOST_BYTES = 1024 * 1024
"""That are read at once; a line is never as long."""


class LogPlace(NamedTuple):
    """Where a line begins: the file, by when it began, and the bytes before it."""

    file: int
    offset: int

    @property
    def cursor(self) -> str:
        """As clients see it."""
        return f"{self.file:013d}.{self.offset}"


START = LogPlace(0, 0)


@dataclass(frozen=True, slots=True)
class LogPage:
    """Lines as they were written, oldest first; `truncated` if some before them were removed unread."""

    lines: list[bytes]
    place: LogPlace
    truncated: bool


class LogFiles:
    """The log in a folder, which is made when the first line comes."""

    def __init__(self, folder: Path, *, max_bytes: int, keep: int, clock: Clock | None = None) -> None:
        self.folder = folder
        self._max_bytes = max_bytes
        self._keep = keep
        self._clock = clock or SystemClock()
        self._file = -1

    @property
    def path(self) -> Path:
        """The name under which the newest file is found."""
        return self.folder / LINK

    def size(self) -> int:
        """Bytes in the newest file."""
        with contextlib.suppress(OSError):
            return self.path.stat().st_size
        return 0

    def append(self, lines: bytes) -> None:
        """Write whole lines; an OSError leaves the log as it was."""
        size = self._ready_for(len(lines))
        written = 0
        try:
            while written < len(lines):
                written += os.write(self._file, lines[written:])
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            raise

    def read(self, cursor: str | None, limit: int) -> LogPage:
        """The lines after a cursor, oldest first, at most `limit` and as many as fit; without one the newest."""
        return self._newest(limit) if cursor is None else self._after(place_of(cursor), limit)

    def close(self) -> None:
        """End the newest file; the next line opens it again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _ready_for(self, more: int) -> int:
        """Have a file open that these bytes fit into; its size."""
        if self._file >= 0 and os.fstat(self._file).st_nlink == 0:
            self.close()  # somebody removed it
        if self._file < 0:
            self._open_newest()
        size = os.fstat(self._file).st_size
        if size and size + more > self._max_bytes:
            self._begin(self._numbers()[-1:])
            size = 0
        return size

    def _open_newest(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        newest = self._numbers()[-1:]
        if not newest:
            self._begin(newest)
            return
        self._file = os.open(self._named(newest[0]), os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")  # the machine went down in the middle of a line
        self._link(newest[0])

    def _begin(self, newest: list[int]) -> None:
        """Begin a file after the newest one, and remove the oldest."""
        number = max(self._clock.now(), *(before + 1 for before in newest), 0)
        made = os.open(self._named(number), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.close()
        self._file = made
        self._link(number)
        for old in self._numbers()[: -self._keep]:
            self._named(old).unlink(missing_ok=True)

    def _link(self, number: int) -> None:
        """Let the link lead to a file; where there are no links there is none."""
        new = self.folder / f".{LINK}"
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
            new.symlink_to(self._named(number).name)
            new.replace(self.path)

    def _numbers(self) -> list[int]:
        """The files there are, oldest first."""
        try:
            found = [NAME.fullmatch(name) for name in os.listdir(self.folder)]  # noqa: PTH208 - names are all we need
        except FileNotFoundError:
            return []
        return sorted(int(each[1]) for each in found if each)

    def _named(self, number: int) -> Path:
        return self.folder / f"gateway-{number}.log"

    def _after(self, place: LogPlace, limit: int) -> LogPage:
        numbers = self._numbers()
        truncated = place.file not in (*numbers, START.file)
        if numbers and place.file > numbers[-1]:
            place = START  # it is from another log
        lines: list[bytes] = []
        size = 0
        for number in (number for number in numbers if number >= place.file):
            try:
                with self._named(number).open("rb") as file:
                    start, skipped = _line_start(file.fileno(), place.offset) if number == place.file else (0, False)
                    truncated = truncated or skipped
                    place = LogPlace(number, start)
                    for line, end in _lines(file.fileno(), start, whole=number == numbers[-1]):
                        if len(lines) == limit or (lines and size + len(line) > MOST_BYTES):
                            return LogPage(lines, place, truncated)
                        lines.append(line)
                        size += len(line)
                        place = LogPlace(number, end)
            except FileNotFoundError:  # removed since we looked
                truncated = True
        return LogPage(lines, place, truncated)

    def _newest(self, limit: int) -> LogPage:
        lines: list[bytes] = []
        numbers = self._numbers()
        place: LogPlace | None = None
        room = MOST_BYTES
        for number in reversed(numbers):
            try:
                with self._named(number).open("rb") as file:
                    size = os.fstat(file.fileno()).st_size
                    start, _ = _line_start(file.fileno(), max(0, size - room))
                    found = list(_lines(file.fileno(), start, whole=number == numbers[-1]))
            except FileNotFoundError:
                break
            place = place or LogPlace(number, found[-1][1] if found else start)
            lines = [line for line, _ in found] + lines
            room -= size - start
            if len(lines) >= limit or room <= 0 or start > 0:
                break
        return LogPage(lines[-limit:], place or START, truncated=False)


def place_of(cursor: str) -> LogPlace:
    """The place that a cursor stands for, or InvalidInput."""
    found = CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidInput(f"{cursor!r:.80} is not a cursor", hint="use the cursor of the answer before")
    return LogPlace(int(found[1]), int(found[2]))


def _line_start(file: int, offset: int) -> tuple[int, bool]:
    """Where the first line begins that starts at an offset or later, and whether the offset was no beginning."""
    size = os.fstat(file).st_size
    if offset > size:
        return 0, True  # the file was cut
    if offset == 0 or os.pread(file, 1, offset - 1) == b"\n":
        return offset, False
    while block := os.pread(file, MOST_BYTES, offset):
        end = block.find(b"\n")
        if end >= 0:
            return offset + end + 1, True
        offset += len(block)
    return size, True


def _lines(file: int, offset: int, *, whole: bool) -> Iterator[tuple[bytes, int]]:
    """The lines from an offset on, each with the offset of its end; unless only whole ones count, the rest too."""
    rest = b""
    while block := os.pread(file, MOST_BYTES, offset + len(rest)):
        *lines, rest = (rest + block).split(b"\n")
        if not lines and len(rest) > MOST_BYTES:  # not one of ours
            lines, rest, offset = [rest], b"", offset - 1
        for line in lines:
            offset += len(line) + 1
            if line:
                yield line, offset
    if rest and not whole:
        yield rest, offset + len(rest)
