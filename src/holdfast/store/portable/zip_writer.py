"""Writes the ZIP of an archive from front to back, the same bytes for the same content.

A member is deflated in segments. A segment that shrinks too much is packed without back-references instead: no
member is ever denser than `DENSEST`, so a reader can take a denser one for a bomb without refusing honest content.
"""

import shutil
import tempfile
import zlib
from typing import IO, Protocol

from holdfast.store.portable.zip_records import (
    ArchiveEnd,
    Member,
    descriptor,
    directory_entry,
    end_records,
    local_header,
)

SEGMENT = 1024 * 1024
DENSEST = 100
LEVEL = 6
QUICK = 1
"""The level of an archive that is read once, at once."""
IN_MEMORY = 4 * 1024 * 1024


class Sink(Protocol):
    """Where an archive goes: a file, a pipe, a socket's file."""

    def write(self, data: bytes, /) -> object:
        """Take all of the bytes."""
        ...


class ZipWriter:
    """One member after the other into a sink; the directory comes last."""

    def __init__(self, sink: Sink, level: int = LEVEL) -> None:
        self._sink = sink
        self._level = level
        self._at = 0
        self._count = 0
        self._directory: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 (closed with the archive)
        self._name = b""
        self._start = 0
        self._crc = 0
        self._size = 0
        self._waiting = bytearray()

    def begin(self, name: str) -> None:
        """Begin a member."""
        self._name, self._start, self._crc, self._size = name.encode("ascii"), self._at, 0, 0
        self._put(local_header(self._name))

    def write(self, data: bytes) -> None:
        """Add to the member that was begun."""
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        self._waiting += data
        if len(self._waiting) > SEGMENT:
            view = memoryview(bytes(self._waiting))
            whole = (len(view) - 1) // SEGMENT * SEGMENT
            for start in range(0, whole, SEGMENT):
                self._put(_deflated(view[start : start + SEGMENT], zlib.Z_FULL_FLUSH, self._level))
            self._waiting = bytearray(view[whole:])

    def end(self) -> None:
        """End the member."""
        self._put(_deflated(self._waiting, zlib.Z_FINISH, self._level))
        self._waiting = bytearray()
        data = Member(self._name, 0, 0, 0, self._start).data
        member = Member(self._name, self._crc, self._at - data, self._size, self._start)
        self._put(descriptor(member))
        self._directory.write(directory_entry(member))
        self._count += 1

    def close(self) -> None:
        """Write the directory: the archive is complete."""
        end = ArchiveEnd(self._count, self._directory.tell(), self._at)
        self._directory.seek(0)
        shutil.copyfileobj(self._directory, self._sink)
        self._sink.write(end_records(end))
        self._directory.close()

    def abandon(self) -> None:
        """Let go of an archive that will not be completed."""
        self._directory.close()

    def _put(self, data: bytes) -> None:
        self._sink.write(data)
        self._at += len(data)


def _deflated(segment: bytearray | memoryview, flush: int, level: int) -> bytes:
    """The segment packed, up to a byte's border, so that the next one can follow."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(segment) + packer.flush(flush)
    if len(segment) > DENSEST * len(packed):
        packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_HUFFMAN_ONLY)
        packed = packer.compress(segment) + packer.flush(flush)
    return packed
