"""Whether an archive can be imported: all of it is read before anything of it is written.

What was read is kept if it is little, so that an import need not read it again.
"""

from typing import NamedTuple

from holdfast.core import Event, event_bodies
from holdfast.core.errors import BadArchive, InvalidInput
from holdfast.core.event_bodies import AttachmentAdded
from holdfast.store.memory import memory_lines
from holdfast.store.portable import ArchivedSession, ArchiveReader, SessionHeader

MOST_KEPT = 16 * 1024 * 1024
"""How much of an archive is kept in memory."""
EVENT_BYTES = 500
"""What an event takes in memory beside its payload."""


class CheckedSession(NamedTuple):
    """A session of an archive with all of its events."""

    header: SessionHeader
    events: list[Event]


def check(reader: ArchiveReader) -> list[CheckedSession] | None:
    """Read all of an archive; BadArchive if anything in it could not be imported, or not be exported again.

    The sessions, unless they are too much to be kept in memory.
    """
    missing: dict[str, SessionHeader] = {}
    kept: list[CheckedSession] | None = []
    left = MOST_KEPT
    for session in reader.sessions():
        events, left = _check_session(session, missing, left)
        if kept is not None:
            kept.append(CheckedSession(session.header, events))
        if left < 0:
            kept = None
    for attachment in reader.attachments():
        missing.pop(attachment.digest, None)
        for _ in attachment.chunks:
            pass
    for digest, header in missing.items():
        raise _bad(header, f"it has attachment {digest}, whose bytes are not in the archive")
    _check_memories(reader)
    return kept


def _check_session(session: ArchivedSession, missing: dict[str, SessionHeader], left: int) -> tuple[list[Event], int]:
    """The session's events, and how much room is left for others; none of them once there is none left."""
    names: set[tuple[str, str]] = set()
    events: list[Event] = []
    for event in session.events:
        try:
            event_bodies.check(event)
        except InvalidInput as error:
            raise _bad(session.header, error.message) from None
        for what, name in (("id", event.event_id), ("idempotency key", event.idempotency_key)):
            if (what, name) in names:
                raise _bad(session.header, f"event {event.seq} has the {what} of an earlier one")
            if name is not None:
                names.add((what, name))
        if event.type == AttachmentAdded.TYPE and event.erased is None:
            missing.setdefault(event_bodies.read(event, AttachmentAdded).digest, session.header)
        left -= len(event.payload) + EVENT_BYTES
        if left < 0:
            events.clear()
        else:
            events.append(event)
    return events, left


def _check_memories(reader: ArchiveReader) -> None:
    last = ("", "")
    for line in reader.memories():
        memory = memory_lines.decode(line)
        name = (memory.namespace, memory.key)
        if name <= last:
            raise BadArchive(f"memory {memory.key!r} is there twice, or out of order", reason="memory")
        last = name


def _bad(header: SessionHeader, message: str) -> BadArchive:
    return BadArchive(f"session {header.session_id!r}: {message}", session_id=header.session_id, reason="event")
