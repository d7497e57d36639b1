"""Archives that are wrong in one place, and how each is refused."""

import zlib
from pathlib import Path

import pytest
from tests.store.portable.sample_archives import (
    content,
    parts,
    sealed,
    written,
)

from holdfast.core.errors import BadArchive
from holdfast.store.portable import Limits
from holdfast.store.portable.zip_records import (
    ArchiveEnd,
    Member,
    descriptor,
    directory_entry,
    end_records,
    local_header,
)

FLAGS, METHOD, CRC, SIZE, ATTRIBUTES, OFFSET, NAME = 8, 10, 16, 24, 38, 42, 46
GOOD = written()
FIRST, SECOND = "sessions/000001.jsonl", "sessions/000002.jsonl"


def refusal(tmp_path: Path, raw: bytes, limits: Limits | None = None) -> BadArchive:
    """How the archive is refused."""
    path = tmp_path / "archive"
    path.write_bytes(raw)
    with pytest.raises(BadArchive) as refused:
        content(path, limits)
    assert refused.value.code == "bad_archive"
    return refused.value


def reason(tmp_path: Path, raw: bytes, limits: Limits | None = None) -> str:
    found: str = refusal(tmp_path, raw, limits).details["reason"]
    return found


def entry(name: str, raw: bytes = GOOD) -> int:
    """Where the member's entry in the directory begins."""
    return raw.rindex(name.encode()) - NAME


def patched(at: int, new: bytes, raw: bytes = GOOD) -> bytes:
    return raw[:at] + new + raw[at + len(new) :]


def raw_zip(members: list[tuple[bytes, bytes, bytes]], *, count: int | None = None) -> bytes:
    """A ZIP in the archive's spelling of (name, packed bytes, content that is declared)."""
    body, directory = b"", b""
    for name, data, declared in members:
        member = Member(name, zlib.crc32(declared), len(data), len(declared), len(body))
        body += local_header(name) + data + descriptor(member)
        directory += directory_entry(member)
    return (
        body + directory + end_records(ArchiveEnd(len(members) if count is None else count, len(directory), len(body)))
    )


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def with_session(lines: list[bytes], **changes: int) -> bytes:
    """An archive with one session of these lines, and a manifest that fits."""
    return sealed({"holdfast.json": parts()["holdfast.json"], FIRST: b"".join(x + b"\n" for x in lines)}, **changes)
