"""Reads one session of an archive: the header, then its events, each checked against the one before."""

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.core import Event
from holdfast.core.chain import GENESIS, seal, seal_digest
from holdfast.core.errors import InvalidInput
from holdfast.store.portable.line_reader import Lines
from holdfast.store.portable.lines import SessionHeader, decode_event, decode_header
from holdfast.store.portable.manifest import ManifestMember
from holdfast.store.portable.refusal import refuse, refuse_line


class ArchivedSession(NamedTuple):
    """A session of an archive; its events can be read once."""

    header: SessionHeader
    events: Iterator[Event]


def read_session(lines: Lines, listed: ManifestMember) -> ArchivedSession:
    """The session in these lines, which must be the one that the manifest lists."""
    line = next(lines, b"")
    try:
        header = decode_header(line)
    except InvalidInput as error:
        raise refuse_line(error, lines.name, 1) from None
    if (header.session_id, header.head_seq, header.head_hash.hex()) != (
        listed.session_id,
        listed.events,
        listed.head_hash,
    ):
        raise refuse("manifest", "the header is not that of the session in the manifest", lines.name, 1)
    return ArchivedSession(header, _events(lines, header))


def _events(lines: Lines, header: SessionHeader) -> Iterator[Event]:
    """The last event comes only after the member's end was reached and the head was compared."""
    previous = GENESIS
    for seq in range(1, header.head_seq + 1):
        line = next(lines, None)
        if line is None:
            raise refuse("head", f"ends after event {seq - 1}, the header says {header.head_seq}", lines.name)
        try:
            event = decode_event(line)
        except InvalidInput as error:
            raise refuse_line(error, lines.name, lines.number) from None
        if event.seq != seq:
            raise refuse("seq", f"event {event.seq} where event {seq} must be", lines.name, lines.number)
        seen = (previous, seq, event.event_id, event.type, event.parent_id, event.created_at)
        previous = seal(*seen, event.payload) if event.erased is None else seal_digest(*seen, event.erased)
        if previous != event.hash:
            raise refuse("chain", f"event {seq} does not follow from the one before", lines.name, lines.number)
        if seq == header.head_seq:
            _check_end(lines, header, previous)
        yield event
    if not header.head_seq:
        _check_end(lines, header, previous)


def _check_end(lines: Lines, header: SessionHeader, last: bytes) -> None:
    if last != header.head_hash:
        raise refuse("head", f"the header's head is not the hash of event {header.head_seq}", lines.name)
    if next(lines, None) is not None:
        raise refuse("head", f"goes on after event {header.head_seq}, the header's last", lines.name, lines.number)
