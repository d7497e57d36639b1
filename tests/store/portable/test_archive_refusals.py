"""Every way in which an archive can be wrong as a ZIP is refused, each for its own reason and by one error type."""

import hashlib
import io
import os
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.store.portable.sample_archives import (
    SESSIONS,
    content,
    manifest,
    packed,
    parts,
    session_lines,
)
from tests.store.portable.wrong_archives import (
    ATTRIBUTES,
    CRC,
    FIRST,
    FLAGS,
    GOOD,
    METHOD,
    OFFSET,
    SECOND,
    SIZE,
    deflated,
    entry,
    patched,
    raw_zip,
    reason,
    refusal,
    with_session,
)

from holdfast.core.errors import BadArchive
from holdfast.store.portable import ArchiveReader, Limits
from holdfast.store.portable.zip_records import (
    ArchiveEnd,
    Member,
    descriptor,
    directory_entry,
    end_records,
    local_header,
)


def test_the_helpers_of_this_file_make_good_archives(tmp_path: Path) -> None:
    members = {**parts(), "manifest.json": manifest(parts())}
    path = tmp_path / "a"
    path.write_bytes(raw_zip([(name.encode(), deflated(data), data) for name, data in members.items()]))
    assert content(path)[1] == SESSIONS
    path.write_bytes(with_session(session_lines(*SESSIONS[2])))
    assert content(path)[1] == [SESSIONS[2]]


NOT_ONE = {"empty": b"", "text": b"not a ZIP" * 100, "end only": GOOD[-22:], "mark only": b"PK\x03\x04" * 20}


@pytest.mark.parametrize("raw", NOT_ONE.values(), ids=NOT_ONE)
def test_what_is_no_archive(tmp_path: Path, raw: bytes) -> None:
    assert reason(tmp_path, raw) in {"not_an_archive", "end", "layout"}


def test_cut_off_anywhere(tmp_path: Path) -> None:
    for length in range(0, len(GOOD), 7):
        assert reason(tmp_path, GOOD[:length]) in {"not_an_archive", "end", "layout"}


def test_junk_before_behind_and_between(tmp_path: Path) -> None:
    assert reason(tmp_path, b"#!/bin/sh\n" + GOOD) == "layout"
    assert reason(tmp_path, GOOD + b"\0") == "end"
    assert reason(tmp_path, GOOD + GOOD) == "layout"
    assert reason(tmp_path, GOOD[:-2] + b"\x05\0hello") == "end"
    directory = struct.unpack("<L", GOOD[-6:-2])[0]
    gap = GOOD[:directory] + b"gap" + GOOD[directory:-6] + struct.pack("<L", directory + 3) + GOOD[-2:]
    assert reason(tmp_path, gap) == "layout"
    longer = GOOD[:-22] + b"more" + GOOD[-22:-10] + struct.pack("<L", len(GOOD) - 18 - directory) + GOOD[-6:]
    assert reason(tmp_path, longer) == "directory"


def test_a_gap_between_two_members(tmp_path: Path) -> None:
    body, directory = b"", b""
    for name, data in {**parts(), "manifest.json": manifest(parts())}.items():
        member = Member(name.encode(), zlib.crc32(data), len(deflated(data)), len(data), len(body))
        body += local_header(member.name) + deflated(data) + descriptor(member) + b"gap" * (name == SECOND)
        directory += directory_entry(member)
    raw = body + directory + end_records(ArchiveEnd(len(parts()) + 1, len(directory), len(body)))
    assert refusal(tmp_path, raw).details == {"reason": "layout", "member": "sessions/000003.jsonl"}


NAMES = [
    b"../../../../etc/xx.txt", b"/absolute/path/x.jsonl", b"sessions\\000001.jsonl", b"C:/sessions/00001.json",
    b"Sessions/000001.jsonl", b"sessions/000001.JSONL", b"sessions/00000\xff.jsonl", b"sessions/00000\0.jsonl",
    b"sessions/00001/.jsonl", b"sessions//00001.jsonl", b"sessions/+00001.jsonl", b"sessions/000001.jsonx",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_names_that_no_member_has(tmp_path: Path, name: bytes) -> None:
    good = FIRST.encode()
    name = name[: len(good)].ljust(len(good), b"x")
    assert reason(tmp_path, GOOD.replace(good, name)) == "member_name"


def test_names_that_differ_between_header_and_directory(tmp_path: Path) -> None:
    at = GOOD.index(FIRST.encode())
    assert reason(tmp_path, patched(at, SECOND.encode())) == "layout"


def test_members_twice_out_of_order_missing_or_too_many(tmp_path: Path) -> None:
    members = {**parts(), "manifest.json": manifest(parts())}
    listed = list(members.items())
    for wrong in (
        [listed[1], *listed],
        [*listed[:2], listed[1], *listed[2:]],
        [*listed[:2], listed[3], listed[2], *listed[4:]],
        [*listed, listed[-1]],
        [*listed[:1], *listed[2:]],
        listed[1:],
        listed[:-1],
        [listed[0], listed[-2], *listed[1:-2], listed[-1]],
        [*listed[:4], listed[4], listed[4], *listed[5:]],
    ):
        assert reason(tmp_path, packed(wrong)) == "order"
    for name in (
        "extra.txt",
        "sessions/000004.jsonl/x",
        "attachments/" + "A" * 64,
        "attachments/" + "a" * 63,
        "x" * 300,
    ):
        assert reason(tmp_path, packed([*listed[:-1], (name, b""), listed[-1]])) == "member_name"
    assert reason(tmp_path, packed([])) == "order"


def test_encryption_methods_links_and_folders(tmp_path: Path) -> None:
    at = entry(FIRST)
    assert reason(tmp_path, patched(at + FLAGS, b"\x09\0")) == "encrypted"
    for method in (0, 9, 12, 14, 99):
        assert reason(tmp_path, patched(at + METHOD, struct.pack("<H", method))) == "method"
    for mode in (0o120777, 0o040700, 0o010600, 0o020600, 0o100777):
        assert reason(tmp_path, patched(at + ATTRIBUTES, struct.pack("<L", mode << 16))) == "attributes"


def test_records_that_lie(tmp_path: Path) -> None:
    at, directory = entry(FIRST), struct.unpack("<L", GOOD[-6:-2])[0]
    assert reason(tmp_path, patched(at + CRC, bytes(4))) == "layout"
    assert reason(tmp_path, patched(at + SIZE, b"\x01\0\0\0")) == "layout"
    assert reason(tmp_path, patched(at + SIZE, b"\xff" * 4)) == "directory"
    assert reason(tmp_path, patched(at + OFFSET, bytes(4))) == "layout"
    assert reason(tmp_path, patched(at + OFFSET, b"\xff" * 4)) == "directory"
    assert reason(tmp_path, patched(at + 4, b"\x14\0")) == "directory"
    assert reason(tmp_path, patched(at, b"PK\x01\x03")) == "directory"
    for count in (0, 1, 6, 8, 65534):
        wrong = struct.pack("<HH", count, count)
        assert reason(tmp_path, patched(len(GOOD) - 14, wrong)) in {"directory", "layout", "order"}
    for counts in (b"\xff\xff\xff\xff", b"\x07\0\x08\0"):
        assert reason(tmp_path, patched(len(GOOD) - 14, counts)) in {"end", "layout"}
    assert reason(tmp_path, patched(len(GOOD) - 6, b"\xff" * 4)) in {"end", "layout"}
    wide = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 813, 45, 0, 0, 7, 7, len(GOOD) - 22 - directory, directory)
    wide += struct.pack("<4sLQL", b"PK\x06\x07", 0, len(GOOD) - 22, 1)
    assert reason(tmp_path, GOOD[:-22] + wide + GOOD[-22:]) in {"end", "layout"}
    marked = GOOD[:-22] + wide[:24] + b"\xff" * 52 + GOOD[-22:-14] + b"\xff" * 12 + GOOD[-2:]
    assert reason(tmp_path, marked) == "layout"
    marked = GOOD[:-22] + wide + GOOD[-22:-14] + b"\xff" * 12 + GOOD[-2:]
    assert reason(tmp_path, marked) in {"end", "layout"}


def test_members_that_overlap(tmp_path: Path) -> None:
    """Two entries for the same packed bytes, as the best bombs have it."""
    members = {**parts(), "manifest.json": manifest(parts())}
    body, places = b"", []
    for name, data in members.items():
        packed_data = deflated(data)
        member = Member(name.encode(), zlib.crc32(data), len(packed_data), len(data), len(body))
        places.append(member)
        body += local_header(member.name) + packed_data + descriptor(member)
    places[2] = Member(places[2].name, places[1].crc, places[1].packed, places[1].size, places[1].offset)
    directory = b"".join(map(directory_entry, places))
    assert (
        reason(tmp_path, body + directory + end_records(ArchiveEnd(len(places), len(directory), len(body)))) == "layout"
    )


def test_a_zip_of_another_tool(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**parts(), "manifest.json": manifest(parts())}.items():
            archive.writestr(name, data)
    assert reason(tmp_path, out.getvalue()) in {"directory", "attributes", "layout"}


def test_packed_data_that_is_broken(tmp_path: Path) -> None:
    members = {**parts(), "manifest.json": manifest(parts())}

    def changed(change: Callable[[bytes], bytes], declared: bytes | None = None) -> bytes:
        return raw_zip(
            [
                (name.encode(), change(deflated(data)), declared or data)
                if name == SECOND
                else (name.encode(), deflated(data), data)
                for name, data in members.items()
            ]
        )

    assert reason(tmp_path, changed(lambda data: data + b"hidden")) == "deflate"
    assert reason(tmp_path, changed(lambda data: data + bytes(200_000))) == "deflate"
    assert reason(tmp_path, changed(lambda data: data[:-3])) == "deflate"
    assert reason(tmp_path, changed(lambda data: b"")) == "deflate"
    assert reason(tmp_path, changed(lambda data: b"\xff" * len(data))) == "deflate"
    assert reason(tmp_path, changed(lambda data: deflated(b"x" + members[SECOND][1:]))) == "crc"
    assert reason(tmp_path, changed(lambda data: deflated(members[SECOND][:-1]))) == "size"
    assert reason(tmp_path, changed(lambda data: deflated(members[SECOND] + b"x"))) == "size"


def test_a_flipped_bit_in_the_data(tmp_path: Path) -> None:
    at = GOOD.index(SECOND.encode()) + len(SECOND) + 20
    for offset in range(0, 60, 3):
        raw = patched(at + offset, bytes([GOOD[at + offset] ^ 4]))
        assert reason(tmp_path, raw) in {"crc", "deflate", "size"}


ZEROS = bytes(50 * 1024 * 1024)


def test_a_bomb_is_refused_before_it_is_inflated(tmp_path: Path) -> None:
    """Fifty megabytes of zeros: declared as such, and declared as a few bytes."""
    about, bomb = parts()["holdfast.json"], deflated(ZEROS)
    digest = hashlib.sha256(ZEROS).hexdigest()
    name = f"attachments/{digest}".encode()
    listed = manifest({"holdfast.json": about, name.decode(): ZEROS})
    honest = [
        (b"holdfast.json", deflated(about), about),
        (name, bomb, ZEROS),
        (b"manifest.json", deflated(listed), listed),
    ]
    small = manifest({"holdfast.json": about}).replace(
        b'\n],"totals":{"members":1,"sessions":0,"events":0,"attachments":0,"memories":0,"bytes":%d}' % len(about),
        b',\n{"name":"%s","size":9,"sha256":"%s"}\n],"totals":{"members":2,"sessions":0,"events":0,"attachments":1,'
        b'"memories":0,"bytes":%d}' % (name, digest.encode(), len(about) + 9),
    )
    lying = [honest[0], (name, bomb, bytes(9)), (b"manifest.json", deflated(small), small)]
    for raw, expected in ((raw_zip(honest), "ratio"), (raw_zip(lying), "size")):
        tracemalloc.start()
        try:
            assert reason(tmp_path, raw) == expected
            assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
        finally:
            tracemalloc.stop()


def test_more_than_the_limits(tmp_path: Path) -> None:
    assert reason(tmp_path, GOOD, Limits(members=6)) == "too_many"
    assert reason(tmp_path, GOOD, Limits(inflated_bytes=5_000)) == "too_large"
    assert reason(tmp_path, GOOD, Limits(ratio=1, ratio_floor=100)) == "ratio"
    assert reason(tmp_path, GOOD, Limits(line_bytes=200)) == "line"


def test_what_is_not_a_file_to_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "none", tmp_path / "pipe", Path("/dev/zero"), tmp_path / ("x" * 300)):
        with pytest.raises(BadArchive) as refused:
            ArchiveReader(path)
        assert refused.value.details["reason"] == "unreadable"
