"""Every way in which an archive can be wrong is refused, each for its own reason and by one error type."""

import hashlib
import io
import json
import os
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.store.portable.sample_archives import (
    BLOB,
    DIGEST,
    SESSIONS,
    content,
    header,
    log,
    manifest,
    packed,
    parts,
    sealed,
    session_lines,
    written,
)

from holdfast.core.errors import BadArchive
from holdfast.store.log.prepare import MAX_PAYLOAD
from holdfast.store.portable import ArchiveReader, Limits
from holdfast.store.portable.zip_records import End, Member, descriptor, directory_entry, end_records, local_header

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
    return body + directory + end_records(End(len(members) if count is None else count, len(directory), len(body)))


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def with_session(lines: list[bytes], **changes: int) -> bytes:
    """An archive with one session of these lines, and a manifest that fits."""
    return sealed({"holdfast.json": parts()["holdfast.json"], FIRST: b"".join(x + b"\n" for x in lines)}, **changes)


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
    raw = body + directory + end_records(End(len(parts()) + 1, len(directory), len(body)))
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
    assert reason(tmp_path, body + directory + end_records(End(len(places), len(directory), len(body)))) == "layout"


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


ABOUT = [
    b'{"format":"holdfast-archive","version":2,"createdBy":"holdfast 9"}\n',
    b'{"format":"holdfast-archive","version":2,"more":1}\n',
    b'{"format":"other","version":1,"createdBy":"holdfast 1"}\n',
    b'{"format":"holdfast-archive","version":1,"createdBy":"x"}',
    b'{"version":1,"format":"holdfast-archive","createdBy":"x"}\n',
    b'{"format":"holdfast-archive","version":1,"createdBy":"x","createdBy":"y"}\n',
    b'{"format":"holdfast-archive","version":1}\n',
    b"[]\n",
    b"",
]


@pytest.mark.parametrize("about", ABOUT, ids=repr)
def test_another_format_or_version(tmp_path: Path, about: bytes) -> None:
    found = refusal(tmp_path, sealed({**parts(), "holdfast.json": about}))
    assert (found.details["reason"], found.details["member"]) == ("line", "holdfast.json")
    assert "version 2" not in found.message or "newer" in (found.hint or "")


def test_a_manifest_that_does_not_fit(tmp_path: Path) -> None:
    good = manifest(parts())
    changes: list[tuple[bytes, bytes]] = [
        (b'"sessionId":"plain"', b'"sessionId":"plane"'),
        (b'"events":3', b'"events":2'),
        (b'"lines":1', b'"lines":2'),
        (b',"lines":1', b""),
        (b'"name":"memories.jsonl"', b'"name":"memories.json"'),
        (f'"size":{len(BLOB)}'.encode(), f'"size":{len(BLOB) - 1}'.encode()),
        (b'"sessionId":"empty",', b""),
        (b'{"name":"holdfast.json",', b'{"lines":1,"name":"holdfast.json",'),
        (b'-manifest","version":1', b'-manifest","version":2'),
        (b'"name":"sessions/000001.jsonl",', b'"name":"sessions/000001.jsonl", '),
        (b'"name":"sessions/000001.jsonl",', b'"name":"x","name":"sessions/000001.jsonl",'),
        (b'"attachments":1', b'"attachments":2'),
        (b'"totals"', b'"total"'),
        (b"}}\n", b"}}\n\n"),
        (b"}}\n", b"}}\n{}\n"),
        (b"}}\n", b"}} \n"),
        (b"}\n]", b"},\n]"),
        (b"},\n", b"}\n"),
        (b"},\n{", b"},{"),
        (f'"sha256":"{DIGEST}"'.encode(), f'"sha256":"{DIGEST[::-1]}"'.encode()),
        (f'"sha256":"{DIGEST}"'.encode(), f'"sha256":"{DIGEST.upper()}"'.encode()),
        (b'"size":', b'"size":-'),
        (b'"size":', b'"size":1e'),
    ]
    for old, new in changes:
        assert old in good, old
        raw = packed({**parts(), "manifest.json": good.replace(old, new)})
        assert reason(tmp_path, raw) == "manifest", (old, new)
    assert reason(tmp_path, packed({**parts(), "manifest.json": good[:-1]})) == "line"
    assert reason(tmp_path, packed({**parts(), "manifest.json": b""})) == "manifest"
    two = good.replace(b'"lines":1', b'"lines":2').replace(b'"memories":1', b'"memories":2')
    assert reason(tmp_path, packed({**parts(), "manifest.json": two})) == "manifest"
    fewer = dict(list(parts().items())[:-1])
    assert reason(tmp_path, packed({**parts(), "manifest.json": manifest(fewer)})) == "manifest"
    assert reason(tmp_path, packed({**fewer, "manifest.json": manifest(parts())})) == "manifest"
    swapped = dict(zip(parts(), [list(parts().values())[index] for index in (0, 2, 1, 3, 4, 5)], strict=True))
    assert reason(tmp_path, sealed(swapped)) == "manifest"


def test_content_with_another_hash(tmp_path: Path) -> None:
    members = parts()
    other = hashlib.sha256(members[SECOND]).hexdigest()
    wrong = manifest(members).replace(other.encode(), other[::-1].encode())
    assert reason(tmp_path, packed({**members, "manifest.json": wrong})) == "sha256"
    memories = hashlib.sha256(members["memories.jsonl"]).hexdigest()
    wrong = manifest(members).replace(memories.encode(), memories[::-1].encode())
    assert reason(tmp_path, packed({**members, "manifest.json": wrong})) == "sha256"
    renamed = {name.replace(DIGEST, "0" * 64): data for name, data in members.items()}
    assert reason(tmp_path, sealed(renamed)) == "manifest"


def test_a_log_that_was_changed(tmp_path: Path) -> None:
    head, events = SESSIONS[2]
    first, one, two, three = session_lines(head, events)
    later = log([b'{"a":1}', b'{"a":1.0}', b"[]", b"4"])
    attempts: list[tuple[str, list[bytes]]] = [
        ("seq", [first, two, three, one]),
        ("seq", [first, one, three, two]),
        ("seq", [first, one, one, three]),
        ("seq", [first, two, three]),
        ("head", [first, one, two]),
        ("head", [first]),
        ("head", [first, one, two, three, session_lines(head, later)[4]]),
        ("head", [first, one, two, three, b""]),
        ("chain", [first, one.replace(b'{"a":1}', b'{"a":2}'), two, three]),
        ("chain", [first, one.replace(b'{"a":1}', b'{"a": 1}'), two, three]),
        ("chain", [first, one, two.replace(b"1.0", b"1.00"), three]),
        ("chain", [first, one.replace(b'"e1"', b'"e0"'), two, three]),
        ("chain", [first, one.replace(b'"note"', b'"Note"'), two, three]),
        ("chain", [first, one, two.replace(b'"parentId":"e1"', b'"parentId":null'), three]),
        ("chain", [first, one.replace(events[0].hash.hex().encode(), b"0" * 64), two, three]),
        ("head", [first.replace(head.head_hash.hex().encode(), b"1" * 64), one, two, three]),
        ("head", [first.replace(b'"headSeq":3', b'"headSeq":2'), one, two, three]),
        ("head", [first.replace(b'"headSeq":3', b'"headSeq":4'), one, two, three]),
        ("head", [first.replace(b'"headSeq":3', b'"headSeq":0'), one, two, three]),
        ("line", [one, two, three]),
    ]
    for expected, lines in attempts:
        if expected == "line":
            members = {**parts(), SECOND: b"\n".join(lines) + b"\n"}
            raw = packed({**members, "manifest.json": manifest({**parts(), SECOND: parts()[SECOND]})})
            assert reason(tmp_path, raw) in {"line", "manifest"}
        else:
            assert reason(tmp_path, with_session(lines)) == expected, lines


def test_an_erased_event_keeps_its_place_in_the_chain(tmp_path: Path) -> None:
    events = log([b"1", None, b"3"])
    lines = session_lines(header("s", events), events)
    gone = hashlib.sha256(b"gone").hexdigest().encode()
    assert b'"erased":"' + gone in lines[2]
    assert reason(tmp_path, with_session([*lines[:2], lines[2].replace(gone, b"0" * 64), lines[3]])) == "chain"


LINES: list[tuple[bytes, bytes]] = [
    (b'{"seq"', b'{ "seq"'),
    (b'{"seq":1,', b'{"seq":1,"seq":1,'),
    (b'{"seq":1,"eventId":"e1"', b'{"eventId":"e1","seq":1'),
    (b'{"seq":1,', b'{"seq":1,"more":1,'),
    (b'"seq":1', b'"seq":1.0'),
    (b'"seq":1', b'"seq":-1'),
    (b'"seq":1', b'"seq":99999999999999999999'),
    (b'"seq":1', b'"seq":"1"'),
    (b'"eventId":"e1"', b'"eventId":""'),
    (b'"eventId":"e1"', b'"eventId":"\\u0000"'),
    (b'"eventId":"e1"', b'"eventId":"\\u0065\\u0031"'),
    (b'"eventId":"e1"', b'"eventId":"\\ud800"'),
    (b'"eventId":"e1"', b'"eventId":"\xff"'),
    (b'"eventId":"e1"', b'"eventId":"' + b"x" * 513 + b'"'),
    (b'"eventId":"e1",', b""),
    (b'"type":"note"', b'"type":null'),
    (b'"idempotencyKey":"key-1"', b'"idempotencyKey":""'),
    (b'"parentId":null,', b""),
    (b'"createdAt":1', b'"createdAt":-1'),
    (b'"createdAt":1', b'"createdAt":999999999999991'),
    (b'"hash":"', b'"hash":"0'),
    (b'"payload":', b'"payload":1,"payload":'),
    (b'"payload":', b'"payload": ,"x":'),
    (b'"payload":{"a":1}}', b'"payload":}'),
    (b'"payload":{"a":1}}', b'"payload":{"a":1}'),
    (b'"payload":{"a":1}}', b'"payload":{"a":1}}}'),
    (b'"payload":{"a":1}}', b'"payload":{"a":1},"x":2}'),
    (b'"payload":{"a":1}}', b'"payload":\r{"a":1}}'),
    (b'"payload":{"a":1}}', b'"payloadText":"{\\"a\\":1}"}'),
    (b'"payload":{"a":1}}', b'"payloadText":"\\u000a1"}'),
    (b'"payload":{"a":1}}', b'"payloadText":1}'),
    (b',"payload":{"a":1}}', b"}"),
    (b'"payload":{"a":1}}', b'"erased":"' + b"0" * 64 + b'","payload":1}'),
    (b'"payload":{"a":1}}', b'"payload":1,"erased":"' + b"0" * 64 + b'"}'),
    (b'"payload":{"a":1}}', b'"erased":"' + b"A" * 64 + b'"}'),
    (b'"payload":{"a":1}}', b'"erased":null}'),
]
JSONS = [
    b"NaN", b"[1,]", b'{"a":1,"a":2}', b'"\\ud800"', b'"\xff"', b"[" * 65 + b"]" * 65, b"01", b"9" * 4301, b"1e999",
    b"'a'", b"[" * 100_000 + b"]" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), LINES, ids=[repr(new[:30]) for _, new in LINES])
def test_an_event_spelled_in_another_way(tmp_path: Path, old: bytes, new: bytes) -> None:
    first, *lines = session_lines(*SESSIONS[2])
    assert old in lines[0]
    found = refusal(tmp_path, with_session([first, lines[0].replace(old, new), *lines[1:]]))
    assert found.details["reason"] in {"line", "json"}
    assert (found.details["member"], found.details["line"]) == (FIRST, 2)


@pytest.mark.parametrize("payload", JSONS, ids=lambda raw: repr(raw[:20]))
def test_a_payload_that_is_not_json_though_its_hash_is_right(tmp_path: Path, payload: bytes) -> None:
    events = log([payload])
    assert reason(tmp_path, with_session(session_lines(header("s", events), events))) in {"line", "json"}


def test_a_payload_or_line_that_is_too_long(tmp_path: Path) -> None:
    events = log([b'"' + b"x" * MAX_PAYLOAD + b'"'])
    assert reason(tmp_path, with_session(session_lines(header("s", events), events))) == "line"
    lines = session_lines(*SESSIONS[2])
    assert reason(tmp_path, with_session([lines[0], b" " * 40_000_000 + lines[1], *lines[2:]])) in {"line", "ratio"}


HEADERS: list[tuple[bytes, bytes]] = [
    (b'"sessionId":"plain"', b'"sessionId":"../x"'),
    (b'"sessionId":"plain"', b'"sessionId":".."'),
    (b'"createdAt":1', b'"createdAt":-1'),
    (b'"updatedAt":2', b'"updatedAt":2.0'),
    (b'"headSeq":3', b'"headSeq":-3'),
    (b'"routes":[', b'"routes":[{"key":"zz","startedAt":3,"endedAt":4},'),
    (b'"routes":[', b'"routes":[{"key":"z","startedAt":3,"endedAt":4},'),
    (b'"routes":[', b'"routes":[{"key":"","startedAt":3,"endedAt":4},'),
    (b'"startedAt":3', b'"startedAt":-3'),
    (b'"endedAt":null', b'"endedAt":-1'),
    (b'{"sessionId"', b'{"more":1,"sessionId"'),
    (b'{"sessionId"', b'{ "sessionId"'),
]


@pytest.mark.parametrize(("old", "new"), HEADERS, ids=[repr(new) for _, new in HEADERS])
def test_a_header_that_cannot_be(tmp_path: Path, old: bytes, new: bytes) -> None:
    first, *lines = session_lines(*SESSIONS[2])
    assert old in first
    assert reason(tmp_path, with_session([first.replace(old, new), *lines])) in {"line", "manifest"}


def test_memories_are_json_lines(tmp_path: Path) -> None:
    for wrong in (b"{\n", b"\n", b"1\r\n", b'{"a":1,"a":2}\n', b"1"):
        found = refusal(tmp_path, sealed({**parts(), "memories.jsonl": wrong}))
        assert (found.details["reason"], found.details["member"]) in {
            ("line", "memories.jsonl"),
            ("json", "memories.jsonl"),
        }


def test_the_last_event_and_the_last_bytes_come_only_if_everything_held(tmp_path: Path) -> None:
    """Somebody who stops at the last event or at the declared size has not used anything unchecked."""
    path = tmp_path / "a"
    path.write_bytes(with_session([*session_lines(*SESSIONS[2]), b"more"]))
    with ArchiveReader(path) as archive:
        events = next(archive.sessions()).events
        assert [next(events).seq, next(events).seq] == [1, 2]
        with pytest.raises(BadArchive):
            next(events)
    entry_at = entry(f"attachments/{DIGEST}")
    crc = patched(entry_at + CRC, bytes(4))
    data = GOOD[entry_at + CRC : entry_at + CRC + 4]
    both = crc.replace(b"PK\x07\x08" + data, b"PK\x07\x08" + bytes(4))
    path = tmp_path / "b"
    path.write_bytes(both)
    with ArchiveReader(path) as archive:
        got = b""
        with pytest.raises(BadArchive) as refused:
            for chunk in next(archive.attachments()).chunks:
                got += chunk
        assert refused.value.details["reason"] == "crc"
        assert len(got) < len(BLOB)


def test_the_error_says_where_and_what_to_do(tmp_path: Path) -> None:
    first, *lines = session_lines(*SESSIONS[2])
    found = refusal(tmp_path, with_session([first, lines[0], lines[1].replace(b"1.0", b"2.0"), lines[2]]))
    assert json.loads(json.dumps(found.details)) == {"reason": "chain", "member": FIRST, "line": 3}
    assert found.message.startswith(f"{FIRST}, line 3: ")
    assert found.status == 400
    assert found.hint
