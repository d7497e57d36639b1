"""The bytes around a member in the one kind of ZIP that an archive is.

Every field has one possible value for a given name, checksum, size and place, so a reader compares instead of
interpreting: what is not byte for byte as written here is refused. Sizes follow the data (a data descriptor with
64-bit sizes), so an archive can be written to a pipe.
"""

import struct
from typing import NamedTuple

DEFLATED = 8
SIZES_FOLLOW = 0x0008
ENCRYPTED = 0x0001
VERSION = 45  # ZIP64: the oldest that knows 64-bit sizes
UNIX = 3 << 8
DATE = 0x0021  # 1980-01-01, the first day that ZIP can say
REGULAR_FILE = 0o100600 << 16
FULL_16 = 0xFFFF
FULL_32 = 0xFFFFFFFF

LOCAL = struct.Struct("<4s5H3L2H")
LOCAL_SIZES = struct.Struct("<2H2Q")
DESCRIPTOR = struct.Struct("<4sLQQ")
ENTRY = struct.Struct("<4s6H3L5H2L")
END = struct.Struct("<4s4H2LH")
END_64 = struct.Struct("<4sQ2H2L4Q")
LOCATOR_64 = struct.Struct("<4sLQL")

LOCAL_MARK = b"PK\x03\x04"
ENTRY_MARK = b"PK\x01\x02"
END_MARK = b"PK\x05\x06"


class Member(NamedTuple):
    """A member's place: its name, the checksum and size of its content, and the packed bytes from `offset` on."""

    name: bytes
    crc: int
    packed: int
    size: int
    offset: int

    @property
    def data(self) -> int:
        """Where the packed bytes begin."""
        return self.offset + LOCAL.size + len(self.name) + LOCAL_SIZES.size

    @property
    def end(self) -> int:
        """Where the next member begins."""
        return self.data + self.packed + DESCRIPTOR.size


class ArchiveEnd(NamedTuple):
    """The end of the archive: how many members, and where the directory is."""

    members: int
    size: int
    offset: int


def local_header(name: bytes) -> bytes:
    """What stands before a member's data."""
    return (
        LOCAL.pack(
            LOCAL_MARK, VERSION, SIZES_FOLLOW, DEFLATED, 0, DATE, 0, FULL_32, FULL_32, len(name), LOCAL_SIZES.size
        )
        + name
        + LOCAL_SIZES.pack(1, 16, 0, 0)
    )


def descriptor(member: Member) -> bytes:
    """What stands after a member's data."""
    return DESCRIPTOR.pack(b"PK\x07\x08", member.crc, member.packed, member.size)


def directory_entry(member: Member) -> bytes:
    """The member's entry in the directory; numbers that need more than 32 bits go into the extra field."""
    numbers = (member.size, member.packed, member.offset)
    wide = [number for number in numbers if number >= FULL_32]
    extra = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    size, packed, offset = (min(number, FULL_32) for number in numbers)
    lengths = (len(member.name), len(extra), 0)
    return (
        ENTRY.pack(
            ENTRY_MARK, UNIX | VERSION, VERSION, SIZES_FOLLOW, DEFLATED, 0, DATE, member.crc, packed, size,
            *lengths, 0, 0, REGULAR_FILE, offset,
        )
        + member.name
        + extra
    )  # fmt: skip


def end_records(end: ArchiveEnd) -> bytes:
    """What stands after the directory; the 64-bit records are there if and only if they are needed."""
    count, size, offset = end
    wide = b""
    if count >= FULL_16 or size >= FULL_32 or offset >= FULL_32:
        wide = END_64.pack(
            b"PK\x06\x06", END_64.size - 12, UNIX | VERSION, VERSION, 0, 0, count, count, size, offset
        ) + LOCATOR_64.pack(b"PK\x06\x07", 0, offset + size, 1)
    short = min(count, FULL_16)
    return wide + END.pack(END_MARK, 0, 0, short, short, min(size, FULL_32), min(offset, FULL_32), 0)
