"""A log that is made from what others wrote: its events get their places and their hashes here, one after the other.

What was sealed waits in memory, or on the disk once it is much, until all of it is known and can be written as an
archive. So what is read may be read once, and may change while it is read.
"""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import IO

from holdfast.core import Event, NewEvent, Route, SystemClock, TimeOrderedIds
from holdfast.core.chain import GENESIS, seal
from holdfast.core.event_bodies import EventBody
from holdfast.store.log.prepare import check, prepare
from holdfast.store.portable.archive_writer import ArchiveWriter
from holdfast.store.portable.lines import SessionHeader, decode_event, encode_event
from holdfast.store.portable.zip_writer import QUICK, Sink

IN_MEMORY = 8 * 1024 * 1024
"""How many bytes of payloads one log may keep in memory."""
CLOCK = SystemClock()
IDS = TimeOrderedIds()


def check_event(event: NewEvent) -> NewEvent:
    """The event, known to be one that can be appended; InvalidInput, InvalidJson or TooLarge."""
    payload = check(event)
    return event if payload is event.payload else replace(event, payload=payload)


class SealedLog:
    """The log of one session on its way into an archive. Close it when it is written."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.head_seq = 0
        self.head_hash = GENESIS
        self.size = 0
        self._events: list[Event] = []
        self._waiting = 0
        self._file: IO[bytes] | None = None

    def __enter__(self) -> "SealedLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget what waits."""
        self._events = []
        if self._file is not None:
            self._file.close()

    def own(self, body: EventBody, event_id: str, created_at: int) -> None:
        """Add an event of the store's own."""
        event = prepare(NewEvent(body.TYPE, body, event_id, created_at=created_at), CLOCK, IDS, reserved=True)
        self._seal(event.event_id, event.type, None, event.created_at, event.payload)

    def add(self, event: NewEvent) -> None:
        """Add an event that was checked and has an id and a time."""
        assert event.event_id is not None
        assert event.created_at is not None
        self._seal(event.event_id, event.type, event.parent_id, event.created_at, event.payload)

    def take_over(self, events: Iterable[Event]) -> None:
        """Add events that follow what is here and were sealed by such a log elsewhere."""
        for event in events:
            self.head_seq, self.head_hash = event.seq, event.hash
            self._keep(event)

    def header(self, created_at: int, updated_at: int, routes: Iterable[Route] = ()) -> SessionHeader:
        """The header that an archive has of this log."""
        return SessionHeader(self.session_id, created_at, updated_at, self.head_seq, self.head_hash, tuple(routes))

    def events(self) -> Iterator[Event]:
        """All that was added, in order."""
        if self._file is not None:
            self._file.seek(0)
            for line in self._file:
                yield decode_event(line.removesuffix(b"\n"))
        yield from self._events

    def _seal(self, event_id: str, type_: str, parent_id: str | None, created_at: int, payload: bytes) -> None:
        self.head_seq += 1
        self.head_hash = seal(self.head_hash, self.head_seq, event_id, type_, parent_id, created_at, payload)
        self._keep(Event(self.head_seq, event_id, type_, payload, created_at, self.head_hash, parent_id))

    def _keep(self, event: Event) -> None:
        self._events.append(event)
        self.size += len(event.payload)
        self._waiting += len(event.payload)
        if self._waiting > IN_MEMORY:
            self._to_disk()

    def _to_disk(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the log)
        for event in self._events:
            self._file.write(encode_event(event) + b"\n")
        self._events, self._waiting = [], 0


def write_logs(logs: Iterable[tuple[SessionHeader, SealedLog]], sink: Sink) -> None:
    """Write an archive of these logs."""
    with ArchiveWriter(sink, level=QUICK) as archive:
        for header, log in sorted(logs, key=lambda each: each[0].session_id):
            with archive.session(header) as session:
                for event in log.events():
                    session.event(event)
