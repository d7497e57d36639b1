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
from holdfast.store.log.prepare import LAST_MS, MAX_PAYLOAD
from holdfast.store.portable.lines import decode_as, hash_of

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
    """A line of `actions.jsonl` or `responses.jsonl` as we write it.

    A response among the actions has its place in the log as `logSeq`: what has a `seq` there is an action.
    """

    type: str
    timestamp: str
    details: Raw
    seq: int | None = None
    log_seq: int | None = None
    event_id: str = ""
    idempotency_key: str | None = None
    parent_id: str | None = None
    erased: str | None = None


class FoundLine(Struct, rename="camel"):
    """The members of such a line that we understand, whoever wrote it."""

    type: str | None = None
    timestamp: str | int | float | None = None
    details: Raw | UnsetType = UNSET
    seq: int | None = None
    log_seq: int | None = None
    event_id: str | None = None
    idempotency_key: str | None = None
    parent_id: str | None = None
    erased: str | None = None


LINE_MEMBERS = frozenset(FoundLine.__struct_encode_fields__)
EVENT_MEMBERS = frozenset({"timestamp", "seq", "logSeq", "eventId", "idempotencyKey", "parentId"})


class FolderEvent(NamedTuple):
    """An event that a line says, where it stood in the log it came from, if the line says so, and the line.

    Of one that was erased only the SHA-256 of its payload is left.
    """

    event: NewEvent
    seq: int | None
    erased: bytes | None
    file: str
    line: int
    beside: tuple[str, ...] = ()
    """Members that we do not know, beside the details."""


def file_of(event: Event) -> str | None:
    """The file in which an event is a line; None for the store's own events."""
    if event.type == types.RESPONSE:
        return RESPONSES
    return None if event.type.startswith(types.PREFIX) else ACTIONS


def encode_entry(event: Event, file: str | None = None) -> bytes:
    """The line of an action or a response, with its end, in its own file or another.

    Line breaks in details are spaces: the value is the same.
    """
    guest = event.type == types.RESPONSE and file == ACTIONS
    return (
        _encode(
            EntryLine(
                SHORT_RESPONSE if guest else event.type,
                to_iso(event.created_at),
                Raw(b"null" if event.erased else event.payload.translate(_one_line)),
                None if guest else event.seq,
                event.seq if guest else None,
                event.event_id,
                event.idempotency_key,
                event.parent_id,
                event.erased.hex() if event.erased else None,
            )
        )
        + b"\n"
    )


def decode_entry(session_id: str, file: str, number: int, line: bytes) -> FolderEvent:
    """The event of a line, by an id that is the same on every reading; InvalidInput."""
    value = strict_json.parse(line)
    if not isinstance(value, dict):
        raise InvalidInput("a line must be a JSON object")
    found = decode_as(_found, line, "not an action or a response")
    names = (
        (found.event_id, "an event id"),
        (found.idempotency_key, "an idempotency key"),
        (found.parent_id, "a parent id"),
    )
    for text, what in names:
        if text is not None:
            check_name(text, what)
    kind = _type_of(file, found)
    details = b"" if found.erased is not None else _details(file, line, found)
    if len(details) > MAX_PAYLOAD:
        raise InvalidInput(f"details of {len(details)} bytes are more than {MAX_PAYLOAD}")
    event = NewEvent(
        kind,
        strict_json.CheckedJson(details),
        found.event_id or derived_id(session_id, file, number, line),
        found.idempotency_key,
        found.parent_id,
        None if found.timestamp is None else moment(found.timestamp),
    )
    seq = found.log_seq if found.seq is None else found.seq
    beside = tuple(name for name in value if name not in LINE_MEMBERS) if found.details is not UNSET else ()
    return FolderEvent(event, seq, None if found.erased is None else hash_of(found.erased), file, number, beside)


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


def state_version(found: dict[str, Any]) -> int | None:
    """The version that a `state.json` says, if it is one."""
    version = found.get("version")
    return version if isinstance(version, int) and not isinstance(version, bool) and 0 < version < 2**53 else None


def encode_metadata(session: Session, **more: Any) -> bytes:
    """`metadata.json`: the session's row, and the members of its own metadata in it and beside it.

    It has nothing that another store would say otherwise of the same session, such as hashes.
    """
    row = {
        "sessionId": session.session_id,
        "agent": session.agent,
        "userId": session.user_id,
        "status": session.status,
        "createdAt": to_iso(session.created_at),
        "updatedAt": to_iso(session.updated_at),
        "headSeq": session.head_seq,
        "tags": list(session.tags),
        "parentSession": session.lineage.get("parentSession"),
        "lineage": session.lineage,
        "metadata": session.metadata,
    }
    return strict_json.dump({**session.metadata, **row, **more}) + b"\n"


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


def _details(file: str, line: bytes, found: FoundLine) -> bytes:
    """The details; all members that are not an event's own if the line has none, or is a response of another type."""
    ours = file == ACTIONS or found.type in {None, SHORT_RESPONSE, types.RESPONSE}
    if found.details is not UNSET and ours:
        return bytes(found.details)
    named = EVENT_MEMBERS | {"type"} if ours else EVENT_MEMBERS
    return _encode({name: value for name, value in _members(line).items() if name not in named})


def moment(timestamp: str | float) -> int:
    """A time of a file in milliseconds; InvalidInput."""
    ms = from_iso(timestamp) if isinstance(timestamp, str) else int(timestamp)
    if not 0 <= ms <= LAST_MS:
        raise InvalidInput(f"the timestamp {timestamp!r:.40} is not in the years 1970 to 9999")
    return ms


_found = msgspec.json.Decoder(FoundLine).decode
_members = msgspec.json.Decoder(dict[str, Raw]).decode
