"""The folder of plain files that a session can be written as: what each line and document says.

`actions.jsonl` and `responses.jsonl` have one line per event, in the order of the log; the other files are one JSON
document each. The layout is for tools that read files. It shows values, not bytes, and only actions and responses of
the log: what must come back exactly goes into an archive.
"""

import hashlib
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from holdfast.core import Event, NewEvent, Session, State, strict_json, types
from holdfast.core.clock import from_iso, to_iso
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_name
from holdfast.store.portable.lines import decode_as
from holdfast.store.prepare import LAST_MS, MAX_PAYLOAD

ACTIONS = "actions.jsonl"
RESPONSES = "responses.jsonl"
STATE = "state.json"
METADATA = "metadata.json"
INITIAL = "initial.json"
FINAL = "final.json"

SHORT_RESPONSE = "response"
OURS_IN_STATE = frozenset({"sessionId", "version"})

_one_line = bytes.maketrans(b"\r\n", b"  ")
_encode = msgspec.json.Encoder().encode


class EntryLine(Struct, rename="camel", omit_defaults=True):
    """A line of `actions.jsonl` or `responses.jsonl` as we write it."""

    type: str
    timestamp: str
    details: Raw
    seq: int
    event_id: str
    idempotency_key: str | None = None
    erased: str | None = None


class FoundLine(Struct, rename="camel"):
    """The members of such a line that we understand, whoever wrote it."""

    type: str | None = None
    timestamp: str | int | float | None = None
    details: Raw | UnsetType = UNSET
    seq: int | None = None
    event_id: str | None = None
    idempotency_key: str | None = None
    erased: str | None = None


KNOWN_MEMBERS = frozenset({"type", "timestamp", "seq", "eventId", "idempotencyKey", "parentId"})


class Entry(NamedTuple):
    """An event that a line says, and where it stood in the log it came from, if the line says so."""

    event: NewEvent
    seq: int | None


def file_of(event: Event) -> str | None:
    """The file in which an event is a line; None for the store's own events."""
    if event.type == types.RESPONSE:
        return RESPONSES
    return None if event.type.startswith(types.PREFIX) else ACTIONS


def encode_entry(event: Event) -> bytes:
    """The line of an action or a response, with its end. Line breaks in details are spaces: the value is the same."""
    return (
        _encode(
            EntryLine(
                event.type,
                to_iso(event.created_at),
                Raw(b"null" if event.erased else event.payload.translate(_one_line)),
                event.seq,
                event.event_id,
                event.idempotency_key,
                event.erased.hex() if event.erased else None,
            )
        )
        + b"\n"
    )


def decode_entry(session_id: str, file: str, number: int, line: bytes) -> Entry | None:
    """The event of a line, by an id that is the same on every reading; None if it was erased. InvalidInput."""
    value = strict_json.parse(line)
    if not isinstance(value, dict):
        raise InvalidInput("a line must be a JSON object")
    found = decode_as(_found, line, "not an action or a response")
    if found.erased is not None:
        return None
    for text, what in ((found.event_id, "an event id"), (found.idempotency_key, "an idempotency key")):
        if text is not None:
            check_name(text, what)
    kind = _type_of(file, found)
    details = _details(file, line, found, value.keys())
    if len(details) > MAX_PAYLOAD:
        raise InvalidInput(f"details of {len(details)} bytes are more than {MAX_PAYLOAD}")
    event = NewEvent(
        kind,
        strict_json.Checked(details),
        found.event_id or derived_id(session_id, file, number, line),
        found.idempotency_key,
        created_at=_milliseconds(found.timestamp),
    )
    return Entry(event, found.seq)


def derived_id(session_id: str, file: str, number: int, line: bytes) -> str:
    """The event id of a line that names none."""
    place = f"{session_id}\0{file}\0{number}\0{hashlib.sha256(line).hexdigest()}"
    return "line-" + hashlib.sha256(place.encode()).hexdigest()[:40]


def encode_state(state: State) -> bytes:
    """`state.json`: the document's members, with the session's id and the version beside them."""
    return strict_json.dump({**state.document, "sessionId": state.session_id, "version": state.version}) + b"\n"


def state_document(found: dict[str, Any]) -> dict[str, Any]:
    """The document of a `state.json`."""
    return {name: value for name, value in found.items() if name not in OURS_IN_STATE}


def encode_metadata(session: Session, **more: Any) -> bytes:
    """`metadata.json`: the session's row; its own metadata is a member of it."""
    row = {
        "sessionId": session.session_id,
        "agent": session.agent,
        "userId": session.user_id,
        "status": session.status,
        "createdAt": to_iso(session.created_at),
        "updatedAt": to_iso(session.updated_at),
        "headSeq": session.head_seq,
        "headHash": session.head_hash.hex(),
        "tags": list(session.tags),
        "lineage": session.lineage,
        "metadata": session.metadata,
    }
    return strict_json.dump({**row, **more}) + b"\n"


def encode_document(value: Any) -> bytes:
    """`initial.json` and `final.json`: the value itself."""
    return strict_json.dump(value) + b"\n"


def _type_of(file: str, found: FoundLine) -> str:
    """The event's type: a `response` among the actions is a response, unless the line has a seq and so is ours."""
    kind = found.type
    if file == RESPONSES or kind == types.RESPONSE or (kind == SHORT_RESPONSE and found.seq is None):
        return types.RESPONSE
    if kind is None:
        raise InvalidInput("an action must have a type")
    if check_name(kind, "an action's type").startswith(types.PREFIX):
        raise InvalidInput(f"types that start with {types.PREFIX!r} are Holdfast's own, not actions")
    return kind


def _details(file: str, line: bytes, found: FoundLine, names: Any) -> bytes:
    """The details; a line that has none, but members that we do not know, is itself the details: nothing is lost."""
    if found.details is not UNSET and (file == ACTIONS or found.type in {None, SHORT_RESPONSE, types.RESPONSE}):
        return bytes(found.details)
    return line.strip(b" \t\r") if names - KNOWN_MEMBERS else b"{}"


def _milliseconds(timestamp: str | float | None) -> int | None:
    if timestamp is None:
        return None
    ms = from_iso(timestamp) if isinstance(timestamp, str) else int(timestamp)
    if not 0 <= ms <= LAST_MS:
        raise InvalidInput(f"the timestamp {timestamp!r:.40} is not in the years 1970 to 9999")
    return ms


_found = msgspec.json.Decoder(FoundLine).decode
