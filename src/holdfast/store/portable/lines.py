"""The lines of a session's member: first its header, then one line per event.

A payload stands in its line byte for byte, as the last member of the object, between `"payload":` and the closing
brace. Only one with a line break in it is written as text. Every line has exactly one spelling: a reader writes it
again and compares, so nothing can be read in two ways.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec import Struct

from holdfast.core import Event, Route, strict_json
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_name, check_session_id
from holdfast.store.log.prepare import LAST_MS, MAX_PAYLOAD

MAX_SEQ = 2**63 - 1
HASH = re.compile(r"[0-9a-f]{64}\Z")

PAYLOAD = b',"payload":'
TEXT = b',"payloadText":'
ERASED = b',"erased":'

Shape = TypeVar("Shape")

_encode = msgspec.json.Encoder().encode
_decode_text = msgspec.json.Decoder(str).decode


@dataclass(frozen=True, slots=True)
class SessionHeader:
    """A session apart from its log: the times of its row, the keys that route or routed to it, the log's head."""

    session_id: str
    created_at: int
    updated_at: int
    head_seq: int
    head_hash: bytes
    routes: tuple[Route, ...] = ()


class RouteLine(Struct, rename="camel", forbid_unknown_fields=True):
    """A route as it is written; the session is the header's."""

    key: str
    started_at: int
    ended_at: int | None


class HeaderLine(Struct, rename="camel", forbid_unknown_fields=True):
    """The first line of a session's member."""

    session_id: str
    created_at: int
    updated_at: int
    routes: list[RouteLine]
    head_seq: int
    head_hash: str


class EventLine(Struct, rename="camel"):
    """A line of an event up to its payload."""

    seq: int
    event_id: str
    type: str
    parent_id: str | None
    idempotency_key: str | None
    created_at: int
    hash: str


def encode_header(header: SessionHeader) -> bytes:
    """The header's line, without the line's end; routes in the order of their keys."""
    routes = [RouteLine(route.key, route.started_at, route.ended_at) for route in header.routes]
    return _encode(
        HeaderLine(
            header.session_id,
            header.created_at,
            header.updated_at,
            sorted(routes, key=lambda route: route.key),
            header.head_seq,
            header.head_hash.hex(),
        )
    )


def decode_header(line: bytes) -> SessionHeader:
    """The header that a line says; InvalidInput."""
    found = decode_as(_header, line, "not a session's header")
    session_id = check_session_id(found.session_id)
    check_order([route.key for route in found.routes], "a route's key")
    for route in found.routes:
        check_name(route.key, "a session key")
        _check_time(route.started_at, "startedAt")
        if route.ended_at is not None:
            _check_time(route.ended_at, "endedAt")
    _check_time(found.created_at, "createdAt")
    _check_time(found.updated_at, "updatedAt")
    _check_seq(found.head_seq, 0, "headSeq")
    routes = tuple(Route(route.key, session_id, route.started_at, route.ended_at) for route in found.routes)
    header = SessionHeader(
        session_id, found.created_at, found.updated_at, found.head_seq, hash_of(found.head_hash), routes
    )
    if encode_header(header) != line:
        _respelled()
    return header


def encode_event(event: Event) -> bytes:
    """The event's line, without the line's end."""
    return b"".join(event_parts(event))


def event_parts(event: Event) -> tuple[bytes, bytes, bytes]:
    """The same in parts that follow one another: a large payload is one of them, as it is."""
    if event.erased is not None:
        return _beginning(event) + ERASED, _encode(event.erased.hex()), b"}"
    if breaks_line(event.payload):
        return _beginning(event) + TEXT, _encode(event.payload.decode()), b"}"
    return _beginning(event) + PAYLOAD, event.payload, b"}"


def breaks_line(text: bytes) -> bool:
    """Whether it has what ends a line."""
    return b"\n" in text or b"\r" in text


def decode_event(line: bytes) -> Event:
    """The event that a line says, its payload checked as JSON; InvalidInput. Its hash is not checked here."""
    found = decode_as(_event, line, "not an event")
    _check_seq(found.seq, 1, "seq")
    check_name(found.event_id, "an event id")
    check_name(found.type, "an event's type")
    if found.parent_id is not None:
        check_name(found.parent_id, "a parent id")
    if found.idempotency_key is not None:
        check_name(found.idempotency_key, "an idempotency key")
    _check_time(found.created_at, "createdAt")
    sealed = hash_of(found.hash)
    beginning = _encode(found)[:-1]
    if not line.startswith(beginning) or not line.endswith(b"}"):
        _respelled()
    rest = line[len(beginning) : -1]
    payload, erased = b"", None
    if rest.startswith(ERASED):
        erased = hash_of(_text(rest, ERASED))
    elif rest.startswith(TEXT):
        payload = _text(rest, TEXT).encode()
        if not breaks_line(payload):
            raise InvalidInput("a payload without a line break must not be written as payloadText")
    elif rest.startswith(PAYLOAD):
        payload = rest[len(PAYLOAD) :]
        if b"\r" in payload:
            raise InvalidInput("a payload with a line break must be written as payloadText")
    else:
        raise InvalidInput("an event must have one of payload, payloadText and erased")
    if erased is None:
        if len(payload) > MAX_PAYLOAD:
            raise InvalidInput(f"a payload of {len(payload)} bytes is more than {MAX_PAYLOAD}")
        payload = strict_json.check(payload)
    return Event(
        found.seq,
        found.event_id,
        found.type,
        payload,
        found.created_at,
        sealed,
        found.parent_id,
        found.idempotency_key,
        erased,
    )


def decode_as(decode: Callable[[bytes], Shape], line: bytes, otherwise: str) -> Shape:
    """What `decode` makes of a line; InvalidInput, whatever is wrong with it."""
    try:
        return decode(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{otherwise}: {error}") from None


def check_order(names: Sequence[str], what: str) -> None:
    """InvalidInput unless the names ascend strictly."""
    for before, name in itertools.pairwise(names):
        if name <= before:
            raise InvalidInput(f"{what} {name!r:.80} comes after {before!r:.80}: there twice, or out of order")


def hash_of(text: str) -> bytes:
    """The bytes of a SHA-256 in lower-case hex; InvalidInput."""
    if not HASH.match(text):
        raise InvalidInput(f"{text!r:.80} is not a SHA-256 in hex")
    return bytes.fromhex(text)


def _beginning(event: Event) -> bytes:
    line = EventLine(
        event.seq,
        event.event_id,
        event.type,
        event.parent_id,
        event.idempotency_key,
        event.created_at,
        event.hash.hex(),
    )
    return _encode(line)[:-1]


def _text(rest: bytes, name: bytes) -> str:
    raw = rest[len(name) :]
    text = decode_as(_decode_text, raw, "not text")
    if _encode(text) != raw:
        _respelled()
    return text


def _check_seq(seq: int, least: int, what: str) -> None:
    if not least <= seq <= MAX_SEQ:
        raise InvalidInput(f"{what} cannot be {seq!r:.40}")


def _check_time(ms: int, what: str) -> None:
    if not 0 <= ms <= LAST_MS:
        raise InvalidInput(f"{what} must be milliseconds from 1970 to 9999, not {ms!r:.40}")


def _respelled() -> NoReturn:
    raise InvalidInput("spelled in another way than an archive's lines are")


_header: Callable[[bytes], HeaderLine] = msgspec.json.Decoder(HeaderLine).decode
_event: Callable[[bytes], Any] = msgspec.json.Decoder(EventLine).decode
