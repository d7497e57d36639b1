"""Reads the ZIP of an archive and believes nothing in it.

The members must lie one after the other from the first byte to the directory, the directory must reach to the end
records, and those to the last byte: nothing can overlap, be hidden in a gap, or stand before or behind. What comes
out of a member is counted while it is inflated, and its last piece is given out only after size and checksum held.
"""

import os
import struct
import zlib
from collections.abc import Iterator

from holdfast.store.portable.limits import Limits
from holdfast.store.portable.refusal import refuse, shown
from holdfast.store.portable.zip_records import (
    DEFLATED,
    DESCRIPTOR,
    ENCRYPTED,
    END,
    END_64,
    END_MARK,
    ENTRY,
    ENTRY_MARK,
    FULL_16,
    FULL_32,
    LOCAL_MARK,
    LOCATOR_64,
    REGULAR_FILE,
    ArchiveEnd,
    Member,
    descriptor,
    directory_entry,
    end_records,
    local_header,
)

CHUNK = 64 * 1024
LONGEST_ENTRY = ENTRY.size + 128 + 28  # a name of ours is at most 76 bytes, its numbers at most 28


class ZipReader:
    """The ZIP behind a file descriptor, which stays the caller's."""

    def __init__(self, file: int, limits: Limits) -> None:
        self._file = file
        self._limits = limits
        self._size = os.fstat(file).st_size
        self._end = self._find_end()

    def checked(self) -> Iterator[Member]:
        """The members, every record held against what it must be, and sizes against the limits."""
        at = total = 0
        for member in self.directory():
            name = shown(member.name)
            if member.offset != at:
                raise refuse("layout", f"begins at byte {member.offset}, the one before ends at {at}", name)
            at, total = member.end, total + member.size
            if total > self._limits.inflated_bytes:
                raise refuse("too_large", f"more than {self._limits.inflated_bytes} bytes are declared", name)
            if member.size > max(self._limits.ratio_floor, self._limits.ratio * member.packed):
                raise refuse("ratio", f"{member.size} bytes are said to come out of {member.packed}", name)
            header = local_header(member.name)
            if self._read(member.offset, len(header)) != header:
                raise refuse("layout", "its header is not the one that the directory describes", name)
            if self._read(member.end - DESCRIPTOR.size, DESCRIPTOR.size) != descriptor(member):
                raise refuse("layout", "checksum and sizes after the data are not those of the directory", name)
            yield member
        if at != self._end.offset:
            raise refuse("layout", f"{self._end.offset - at} bytes between the last member and the directory")

    def directory(self) -> Iterator[Member]:
        """The members in the order of the directory, each entry as we write it."""
        end = self._end
        block, start = b"", end.offset
        stop = end.offset + end.size
        used = 0
        for _ in range(end.members):
            if len(block) - used < LONGEST_ENTRY and start + len(block) < stop:
                start += used
                block, used = self._read(start, min(CHUNK, stop - start)), 0
            member, length = _parse_entry(block, used)
            yield member
            used += length
        if start + used != stop:
            raise refuse("directory", "the directory is longer than its entries")

    def chunks(self, member: Member) -> Iterator[bytes]:
        """The member's content in pieces; the last one comes only if size and checksum hold."""
        name = shown(member.name)
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        at, stop = member.data, member.data + member.packed
        packed, held = b"", b""
        size = crc = 0
        while not inflate.eof:
            if not packed and at < stop:
                packed = self._read(at, min(CHUNK, stop - at))
                at += len(packed)
            fed = bool(packed)
            try:
                chunk = inflate.decompress(packed, CHUNK)
            except zlib.error as error:
                raise refuse("deflate", f"cannot be inflated: {error}", name) from None
            packed = inflate.unconsumed_tail
            if not chunk and not fed and not inflate.eof:
                raise refuse("deflate", "the packed data ends too early", name)
            size += len(chunk)
            crc = zlib.crc32(chunk, crc)
            if size > member.size:
                raise refuse("size", f"more comes out than the {member.size} bytes it declares", name)
            if chunk:
                if held:
                    yield held
                held = chunk
        if at < stop or inflate.unused_data:
            raise refuse("deflate", "something is hidden behind the packed data", name)
        if size != member.size:
            raise refuse("size", f"declares {member.size} bytes and has {size}", name)
        if crc != member.crc:
            raise refuse("crc", "the checksum is wrong", name)
        if held:
            yield held

    def _find_end(self) -> ArchiveEnd:
        if self._size < END.size:
            raise refuse("not_an_archive", f"a file of {self._size} bytes is no ZIP")
        mark, _, _, count, _, size, offset, _ = END.unpack(self._read(self._size - END.size, END.size))
        if mark != END_MARK:
            if self._read(0, 4) == LOCAL_MARK:
                raise refuse("end", "does not end as a ZIP ends: cut off, or something was added")
            raise refuse("not_an_archive", "not a ZIP")
        wide = END_64.size + LOCATOR_64.size + END.size
        if count == FULL_16 or FULL_32 in {size, offset}:
            if self._size < wide:
                raise refuse("end", "the end records are not those of an archive")
            count, size, offset = END_64.unpack(self._read(self._size - wide, END_64.size))[7:]
        end = ArchiveEnd(count, size, offset)
        if offset + size >= self._size or offset + size + len(end_records(end)) != self._size:
            raise refuse("layout", "the directory is not where it should be: something was cut out or put in")
        if self._read(offset + size, self._size - offset - size) != end_records(end):
            raise refuse("end", "the end records are not those of an archive")
        if count > self._limits.members:
            raise refuse("too_many", f"{count} members are more than {self._limits.members}")
        return end

    def _read(self, offset: int, length: int) -> bytes:
        parts = []
        while length:
            try:
                part = os.pread(self._file, length, offset)
            except (OSError, OverflowError) as error:
                raise refuse("unreadable", f"cannot be read at byte {offset}: {error}") from None
            if not part:
                raise refuse("end", f"cut off: nothing at byte {offset}")
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        return b"".join(parts)


def _parse_entry(block: bytes, start: int) -> tuple[Member, int]:
    """The entry that begins at `start`, and its length; refused for the first thing that is not as we write it."""
    if len(block) - start < ENTRY.size:
        raise refuse("directory", "the directory is cut off")
    (
        mark,
        _,
        _,
        flags,
        method,
        _,
        _,
        crc,
        packed,
        size,
        name_length,
        extra_length,
        comment_length,
        _,
        _,
        attributes,
        (offset),
    ) = ENTRY.unpack_from(block, start)
    name_end = start + ENTRY.size + name_length
    name = block[start + ENTRY.size : name_end]
    place = shown(name)
    if mark != ENTRY_MARK:
        raise refuse("directory", "the directory holds something that is not an entry")
    if name_length > 128:
        raise refuse("member_name", "a name that no member has", place)
    if flags & ENCRYPTED:
        raise refuse("encrypted", "is encrypted", place)
    if method != DEFLATED:
        raise refuse("method", f"is packed with method {method}, not deflated", place)
    if attributes != REGULAR_FILE:
        raise refuse("attributes", "is not a regular file by its attributes", place)
    numbers = [size, packed, offset]
    extra = block[name_end : name_end + extra_length]
    wide = [index for index, number in enumerate(numbers) if number == FULL_32]
    if wide and len(extra) == 4 + 8 * len(wide):
        for index, number in zip(wide, struct.unpack_from(f"<{len(wide)}Q", extra, 4), strict=True):
            numbers[index] = number
    size, packed, offset = numbers
    member = Member(name, crc, packed, size, offset)
    length = ENTRY.size + name_length + extra_length + comment_length
    if block[start : start + length] != directory_entry(member):
        raise refuse("directory", "its entry in the directory is not as an archive has it", place)
    return member, length
