"""A file of lines that another program writes, read safely and as far as it goes.

Only a regular file is read, never a link, a pipe or a device, and never for ever: a line has at most LONGEST bytes, and
one that does not fit an event comes in pieces, so memory stays bounded. A `TranscriptFile` remembers how far it was
read; if the file is then another one, or shorter, or says something else there, it begins again at the first line and
counts it.
"""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from holdfast.core.errors import HoldfastError, InvalidInput, NotFound

WHOLE = 8 * 1024 * 1024
"""Bytes of a line that becomes one event, which fits any request; what is longer comes in pieces."""
PIECE = 2 * 1024 * 1024
"""Bytes of such a piece, which may take six times as many once it is written as JSON text."""
LONGEST = 256 * 1024 * 1024
MARK = 1024
"""Bytes before the place that was reached, by which a file is known again."""
TAIL = 256 * 1024
"""Bytes at a file's end in which its last line is looked for."""
OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
LINK = frozenset({errno.ELOOP, errno.ENXIO, errno.ENOTDIR})


class UnreadableFile(InvalidInput):
    """A file of another program cannot be read; its session is left out, and the others are not."""

    code = "unreadable_file"
    hint = "see whether it is a plain file that you may read"


class FileLine(NamedTuple):
    """A line, or a piece of one, without the line feed that ends it."""

    number: int
    offset: int
    """Where the line begins in its file."""
    raw: bytes
    ended: bool = True
    piece: int = 0
    """Which piece of a line this is, from 1; 0 for a whole line."""
    last: bool = True
    """Whether the line is over with this piece."""
    too_long: bool = False
    """Whether the line has more than LONGEST bytes: nothing of it, and nothing after it, is read."""


class TranscriptFile:
    """A file of lines, and how far it was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rewrites = 0
        """How often it was found to be another file than before, or to say something else."""
        self._identity: tuple[int, int] | None = None
        self._start()

    def lines(self, *, to_the_end: bool) -> Iterator[FileLine]:
        """The lines that were not given before; `to_the_end` gives a last one that nobody has ended yet, too.

        UnreadableFile or NotFound if the file cannot be read.
        """
        with open_plain(self.path) as file:
            self._recognise(file)
            file.seek(self.offset)
            while raw := file.readline(WHOLE + 1):
                if raw.endswith(b"\n"):
                    yield self._taken(raw)
                elif len(raw) <= WHOLE:
                    if to_the_end:
                        yield FileLine(self.number + 1, self.offset, raw, ended=False)
                    return
                elif (end := _end_of_line(file, self.offset)) is None:
                    if to_the_end or file.tell() - self.offset > LONGEST:
                        yield FileLine(self.number + 1, self.offset, b"", ended=False, too_long=True)
                    return
                else:
                    yield from self._pieces(file, end)

    def _start(self) -> None:
        self.offset = self.number = 0
        self._mark = b""

    def _taken(self, raw: bytes) -> FileLine:
        line = FileLine(self.number + 1, self.offset, raw[:-1])
        self.number += 1
        self.offset += len(raw)
        self._mark = raw[-MARK:]
        return line

    def _pieces(self, file: IO[bytes], end: int) -> Iterator[FileLine]:
        """A long line that ends before `end`, cut between characters."""
        number, begin = self.number + 1, self.offset
        piece, at = 0, begin
        while at < end - 1:
            file.seek(at)
            raw = _whole_characters(file.read(min(PIECE, end - 1 - at)))
            piece, at = piece + 1, at + len(raw)
            if at == end - 1:
                self.number, self.offset, self._mark = number, end, raw[1 - MARK :] + b"\n"
            yield FileLine(number, begin, raw, piece=piece, last=at == end - 1)
        file.seek(end)

    def _recognise(self, file: IO[bytes]) -> None:
        found = os.fstat(file.fileno())
        identity = (found.st_dev, found.st_ino)
        if self.offset:
            file.seek(self.offset - len(self._mark))
            if identity != self._identity or file.read(len(self._mark)) != self._mark:
                self.rewrites += 1
                self._start()
        self._identity = identity


def last_line(path: Path) -> FileLine | None:
    """The last line that is ended, by its place alone; None if it is not within the file's last bytes."""
    with open_plain(path) as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - TAIL)
        file.seek(start)
        tail = file.read(TAIL)
    end = tail.rfind(b"\n")
    begin = tail.rfind(b"\n", 0, max(end, 0)) + 1
    if end < 0 or (begin == 0 and start):
        return None
    return FileLine(0, start + begin, tail[begin:end])


def open_plain(path: Path) -> IO[bytes]:
    """The regular file at this path, open for reading; UnreadableFile or NotFound."""
    try:
        descriptor = os.open(path, OPEN)
    except OSError as error:
        raise refusal(path, error) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnreadableFile(f"{path} is not a plain file", file=str(path))
        return open(descriptor, "rb", buffering=1024 * 1024)  # noqa: PTH123 - a descriptor
    except BaseException:
        os.close(descriptor)
        raise


def refusal(path: Path, error: OSError) -> HoldfastError:
    """What the system says against reading this path, as an error of ours."""
    if isinstance(error, FileNotFoundError):
        return NotFound(f"{path} is not there any more", file=str(path))
    if error.errno in LINK:
        return UnreadableFile(f"{path} is a link, or not a plain file", file=str(path))
    return UnreadableFile(f"cannot read {path}: {error.strerror or error}", file=str(path))


def _end_of_line(file: IO[bytes], begin: int) -> int | None:
    """The place after the line feed that ends a line; None if it is not there within LONGEST bytes."""
    while file.tell() - begin <= LONGEST:
        chunk = file.read(PIECE)
        found = chunk.find(b"\n")
        if found >= 0:
            return file.tell() - len(chunk) + found + 1
        if not chunk:
            return None
    return None


def _whole_characters(raw: bytes) -> bytes:
    """The bytes without the beginning of a character of UTF-8 that is cut off at their end."""
    for back in range(1, min(4, len(raw))):
        first = raw[-back]
        if first & 0xC0 != 0x80:
            length = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            return raw[:-back] if first >= 0xC0 and length > back else raw
    return raw
