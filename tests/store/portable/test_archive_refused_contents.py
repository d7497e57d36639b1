"""Every way in which the members of an archive can be wrong is refused, each for its own reason and by one error."""

import hashlib
import json
from pathlib import Path

import pytest
from tests.store.portable.sample_archives import (
    BLOB,
    DIGEST,
    SESSIONS,
    header,
    log,
    manifest,
    packed,
    parts,
    sealed,
    session_lines,
)
from tests.store.portable.wrong_archives import (
    CRC,
    FIRST,
    GOOD,
    SECOND,
    entry,
    patched,
    reason,
    refusal,
    with_session,
)

from holdfast.core.errors import BadArchive
from holdfast.store.log.prepare import MAX_PAYLOAD
from holdfast.store.portable import ArchiveReader

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
