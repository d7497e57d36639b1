"""Logs, archives and broken archives to test with."""

import hashlib
import io
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.core import Event, Route, strict_json
from holdfast.core.chain import GENESIS, seal, seal_digest
from holdfast.store.portable import ArchiveReader, ArchiveWriter, Limits, SessionHeader, Totals
from holdfast.store.portable.lines import encode_event, encode_header
from holdfast.store.portable.members import encode_archive_header
from holdfast.store.portable.zip_writer import ZipWriter

BLOB = bytes(range(256)) * 40
DIGEST = hashlib.sha256(BLOB).hexdigest()
MEMORY = b'{"namespace":"n","key":"k","value":[1,2.50]}'


def log(payloads: Iterable[bytes | None], kind: str = "note") -> list[Event]:
    """A log with these payloads; None is one that was erased."""
    events, previous = [], GENESIS
    for seq, payload in enumerate(payloads, 1):
        key = f"key-{seq}" if seq % 2 else None
        parent = f"e{seq - 1}" if seq % 3 == 2 else None
        erased = hashlib.sha256(b"gone").digest() if payload is None else None
        seen = (previous, seq, f"e{seq}", kind, parent, 1_700_000_000_000 + seq)
        previous = seal(*seen, payload) if payload is not None else seal_digest(*seen, erased or b"")
        events.append(Event(*seen[1:4], payload or b"", seen[5], previous, parent, key, erased))
    return events


def header(session_id: str, events: Sequence[Event], routes: Sequence[str] = ()) -> SessionHeader:
    """The header of a session with this log."""
    last = events[-1].hash if events else GENESIS
    return SessionHeader(
        session_id,
        1,
        2,
        len(events),
        last,
        tuple(Route(key, session_id, 3, None if key < "m" else 4) for key in routes),
    )


SESSIONS: list[tuple[SessionHeader, list[Event]]] = [
    (header("empty", []), []),
    *(
        (header(name, events, ["agent:main:a2a:c", "z"]), events)
        for name, events in (
            ("plain", log([b'{"a":1}', b'{"a":1.0}', b"[]"])),
            ("odd", log([b' { "b" :\n 1 }\r\n', None, b" 1 ", b'"\\u00e9\\ud83d\\ude00"', b"1E4"])),
        )
    ),
]
SESSIONS.sort(key=lambda session: session[0].session_id)


class Content(NamedTuple):
    """All that an archive holds."""

    totals: Totals
    sessions: list[tuple[SessionHeader, list[Event]]]
    attachments: list[tuple[str, bytes]]
    memories: list[strict_json.CheckedJson]


def written(
    sessions: Sequence[tuple[SessionHeader, list[Event]]] = SESSIONS,
    attachments: Sequence[tuple[str, bytes]] = ((DIGEST, BLOB),),
    memories: Sequence[bytes] = (MEMORY,),
) -> bytes:
    """The archive of this content."""
    out = io.BytesIO()
    with ArchiveWriter(out) as archive:
        for head, events in sessions:
            with archive.session(head) as session:
                for event in events:
                    session.event(event)
        for digest, data in attachments:
            archive.attachment(digest, [data[:7], data[7:]])
        for memory in memories:
            archive.memory(memory)
    return out.getvalue()


def content(path: Path, limits: Limits | None = None) -> Content:
    """All that an archive holds."""
    with ArchiveReader(path, limits or Limits()) as archive:
        return Content(
            archive.totals,
            [(session.header, list(session.events)) for session in archive.sessions()],
            [(attachment.digest, b"".join(attachment.chunks)) for attachment in archive.attachments()],
            list(archive.memories()),
        )


def session_lines(head: SessionHeader, events: Sequence[Event]) -> list[bytes]:
    """A session's member as lines."""
    return [encode_header(head), *(encode_event(event) for event in events)]


def parts(sessions: Sequence[tuple[SessionHeader, list[Event]]] = SESSIONS) -> dict[str, bytes]:
    """The members of an archive but the manifest, to be changed and packed."""
    found = {"holdfast.json": encode_archive_header()}
    for number, (head, events) in enumerate(sessions, 1):
        found[f"sessions/{number:06d}.jsonl"] = b"".join(line + b"\n" for line in session_lines(head, events))
    return {**found, f"attachments/{DIGEST}": BLOB, "memories.jsonl": MEMORY + b"\n"}


def manifest(members: dict[str, bytes], **changes: Any) -> bytes:
    """The manifest that fits these members, hashes and all; `changes` replaces totals."""
    entries, sessions, events, memories, attachments = [], 0, 0, 0, 0
    for name, data in members.items():
        entry: dict[str, Any] = {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        if name.startswith("sessions/"):
            head = json.loads(data.split(b"\n")[0])
            entry |= {"sessionId": head["sessionId"], "events": head["headSeq"], "headHash": head["headHash"]}
            sessions, events = sessions + 1, events + head["headSeq"]
        attachments += name.startswith("attachments/")
        if name == "memories.jsonl":
            memories = entry["lines"] = data.count(b"\n")
        entries.append(json.dumps(entry, separators=(",", ":")).encode())
    totals = {
        "members": len(members),
        "sessions": sessions,
        "events": events,
        "attachments": attachments,
        "memories": memories,
        "bytes": sum(map(len, members.values())),
    }
    end = json.dumps(totals | changes, separators=(",", ":")).encode()
    opening = b'{"format":"holdfast-manifest","version":1,"members":[\n'
    return opening + b",\n".join(entries) + b'\n],"totals":' + end + b"}\n"


def packed(members: dict[str, bytes] | list[tuple[str, bytes]]) -> bytes:
    """A ZIP in the archive's spelling with any members."""
    out = io.BytesIO()
    writer = ZipWriter(out)
    for name, data in members.items() if isinstance(members, dict) else members:
        writer.begin(name)
        writer.write(data)
        writer.end()
    writer.close()
    return out.getvalue()


def sealed(members: dict[str, bytes], **changes: Any) -> bytes:
    """An archive of these members with a manifest that fits."""
    return packed({**members, "manifest.json": manifest(members, **changes)})


def mutated(random_source: random.Random, archive: bytes) -> bytes:
    """The archive with one to four changes somewhere."""
    raw = bytearray(archive)
    for _ in range(random_source.randint(1, 4)):
        at = random_source.randrange(len(raw) or 1)
        if random_source.random() < 0.4:  # in the directory
            at = max(0, len(raw) - 1 - random_source.randrange(600))
        match random_source.randrange(7):
            case 0:
                raw[at : at + 1] = bytes([random_source.randrange(256)])
            case 1:
                del raw[at : at + random_source.randint(1, 40)]
            case 2:
                raw[at:at] = random_source.randbytes(random_source.randint(1, 40))
            case 3:
                raw[at : at + 4] = random_source.choice(
                    [b"\xff" * 4, bytes(4), b"\x01\0\0\0", b"PK\x05\x06", b"PK\x01\x02"]
                )
            case 4:
                raw[at : at + 1] = bytes([raw[at] ^ (1 << random_source.randrange(8))]) if raw else b""
            case 5:
                piece = raw[at : at + random_source.randint(1, 200)]
                to = random_source.randrange(len(raw) or 1)
                raw[to : to + len(piece)] = piece
            case _:
                del raw[random_source.randrange(len(raw) or 1) :]
                raw += random_source.choice([b"", archive[-22:], archive[-300:]])
    return bytes(raw)


def respelled(random_source: random.Random, members: dict[str, bytes]) -> bytes:
    """An archive whose container and hashes hold, with changes in the text of its members."""
    changed = dict(members)
    for _ in range(random_source.randint(1, 3)):
        name = random_source.choice([name for name in changed if name.endswith(".jsonl")])
        changed[name] = mutated_text(random_source, changed[name])
    try:
        return sealed(changed)
    except (ValueError, KeyError, TypeError):  # a header that cannot be listed
        return packed({**changed, "manifest.json": manifest(members)})


def mutated_text(random_source: random.Random, raw: bytes) -> bytes:
    """The text with something taken out, put in, or exchanged."""
    tokens = [
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\n",
        b"\r",
        b" ",
        b"null",
        b"1",
        b"-1",
        b"1e9",
        b"\\u0000",
        b"\xff",
    ]
    at = random_source.randrange(len(raw) + 1)
    match random_source.randrange(4):
        case 0:
            return raw[:at] + random_source.choice(tokens) + raw[at:]
        case 1:
            return raw[:at] + raw[at + random_source.randint(1, 20) :]
        case 2:
            return raw[:at] + random_source.choice(tokens) + raw[at + 1 :]
        case _:
            lines = raw.split(b"\n")
            random_source.shuffle(lines)
            return b"\n".join(lines)
