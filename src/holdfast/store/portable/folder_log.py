"""The log that a session's folder stands for, sealed, so that it can be imported like any other.

Lines are events where they stood, if they say so. What the documents say (the description, the state, goals,
sub-agents, the end) becomes the store's own events in the places between, with the times that they name; a place that
is left is taken by an event that says so. So a folder that is imported and exported again is the same.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import UNSET

from holdfast.core import Clock, Event, IdSource, NewEvent, strict_json
from holdfast.core.chain import GENESIS, seal, seal_digest
from holdfast.core.errors import BadArchive, InvalidInput
from holdfast.core.event_bodies import (
    EventBody,
    LeftOut,
    SessionCreated,
    SessionFinalized,
    SessionReset,
    StateUpdated,
    with_others,
)
from holdfast.store.log.prepare import LAST_MS, PreparedEvent, prepare
from holdfast.store.portable.archive_writer import ArchiveWriter
from holdfast.store.portable.files_layout import FINAL, METADATA, STATE, FolderEvent, moment
from holdfast.store.portable.folder_documents import Description, children_in, described, ended, fork_of
from holdfast.store.portable.folder_reader import SessionFolder, SkippedLine, read_folder
from holdfast.store.portable.lines import SessionHeader
from holdfast.store.portable.refusal import refuse, refuse_line
from holdfast.store.portable.zip_writer import Sink
from holdfast.store.sessions.children import ChildrenPatch, digest_of, upsert

MAX_LEFT_OUT = 100_000
"""How many events may be left out for the others to keep their places."""
DEFAULT_TIME = 0
FINAL_MEMBERS = ("status", "outcome", "response")
"""The members of a session's end that its event knows; what else its file has goes beside them."""


@dataclass(frozen=True, slots=True)
class FolderLog:
    """A folder that was read to its end: how many of its lines are events, and what it takes to write its log."""

    path: Path
    session_id: str
    lines: int
    head_seq: int
    created_at: int
    updated_at: int
    own: tuple[PreparedEvent, ...]
    skipped: list[SkippedLine]

    def write(self, sink: Sink) -> int:
        """Write an archive with this session; where its log ends."""
        head_seq, head_hash = 0, GENESIS
        for event in self._events():
            head_seq, head_hash = event.seq, event.hash
        header = SessionHeader(self.session_id, self.created_at, self.updated_at, head_seq, head_hash)
        with ArchiveWriter(sink) as archive, archive.session(header) as session:
            for event in self._events():
                session.event(event)
        return head_seq

    def _events(self) -> Iterator[Event]:
        """The whole log, the same on every reading."""
        log, waiting = _Log(self.session_id), list(reversed(self.own))
        for entry in _once(read_folder(self.path), []):
            while self.head_seq and entry.seq is not None and log.seq + 1 < min(entry.seq, self.head_seq):
                yield log.own(waiting.pop() if waiting else None)
            yield log.entry(entry)
        while waiting or log.seq < self.head_seq:
            yield log.own(waiting.pop() if waiting else None)


def read_log(path: Path, clock: Clock, ids: IdSource) -> FolderLog:
    """Read a folder to its end; BadArchive for what is wrong with it, by file and line."""
    folder = read_folder(path)
    found = folder.metadata or {}
    with _blaming(METADATA):
        about = described(found, folder.initial)
    skipped: list[SkippedLine] = []
    lines, first, last, highest = 0, None, None, 0
    beside: dict[tuple[str, str], int] = {}
    for entry in _once(folder, skipped):
        for name in entry.beside:
            beside.setdefault((entry.file, name), entry.line)
        lines, at = lines + 1, entry.event.created_at
        first, last = at if first is None else first, at if at is not None else last
        highest = max(highest, entry.seq or 0)
    said = "member {name!r:.80} beside details is left out, here and in later lines"
    skipped += [SkippedLine(file, line, said.format(name=name)) for (file, name), line in beside.items()]
    now = clock.now()
    created_at = next(at for at in (about.created_at, first, now) if at is not None)
    updated_at = next(at for at in (about.updated_at, last, created_at) if at is not None)
    own = _own_events(folder, about, created_at, updated_at, clock, ids)
    head_seq = about.head_seq if highest <= about.head_seq <= lines + len(own) + MAX_LEFT_OUT else 0
    return FolderLog(path, folder.session_id, lines, head_seq, created_at, updated_at, own, [*folder.skipped, *skipped])


def _own_events(
    folder: SessionFolder, about: Description, created_at: int, updated_at: int, clock: Clock, ids: IdSource
) -> tuple[PreparedEvent, ...]:
    """The store's own events that the documents stand for."""

    def own(body: EventBody, at: int | None = None, others: Mapping[str, Any] | None = None) -> PreparedEvent:
        payload = with_others(body, others) if others else body
        event = prepare(NewEvent(body.TYPE, payload, created_at=updated_at), clock, ids, reserved=True)
        return event if at is None else event._replace(created_at=at)

    events: list[PreparedEvent] = []
    if about.lineage.get("forkedFrom"):
        with _blaming(METADATA):
            events.append(own(fork_of(about.lineage), created_at))
    if about.body != SessionCreated():
        events.append(own(about.body, created_at))
    with _blaming(STATE):
        state = dict(folder.state or {})
        goals, agents = children_in(state)
        if goals or agents:
            patch = ChildrenPatch(goals, agents, digest_of([]))
            events += upsert(patch, own, ids, None).events
        if state or (folder.version or 0) > 0:
            events.append(own(StateUpdated(state, folder.version or UNSET)))
    if about.lineage.get("nextSession"):
        events.append(own(SessionReset(str(about.lineage["nextSession"]), [])))
    with _blaming(FINAL):
        end = ended(folder.final, about.status)
        if end is not None:
            body, at = SessionFinalized(*(end.pop(name) for name in FINAL_MEMBERS)), end.pop("at", None)
            events.append(own(body, None if at is None else moment(at), end))
    return tuple(events)


class _Log:
    """Seals one event after the other."""

    def __init__(self, session_id: str) -> None:
        self.seq = 0
        self._session_id = session_id
        self._hash = GENESIS
        self._time = DEFAULT_TIME

    def entry(self, entry: FolderEvent) -> Event:
        event = entry.event
        payload = event.payload if isinstance(event.payload, bytes) else strict_json.dump(event.payload)
        at = self._time if event.created_at is None else event.created_at
        assert event.event_id is not None
        names = (event.event_id, event.type, event.parent_id)
        return self._sealed(names, event.idempotency_key, at, payload, entry.erased)

    def own(self, event: PreparedEvent | None) -> Event:
        if event is None:
            place = hashlib.sha256(f"{self._session_id}\0{self.seq + 1}".encode()).hexdigest()[:40]
            return self._sealed((f"left-out-{place}", LeftOut.TYPE, None), None, self._time, b"{}", None)
        return self._sealed((event.event_id, event.type, None), None, event.created_at, event.payload, None)

    def _sealed(
        self,
        names: tuple[str, str, str | None],
        key: str | None,
        at: int,
        payload: bytes,
        erased: bytes | None,
    ) -> Event:
        self.seq += 1
        seen = (self._hash, self.seq, *names, at)
        self._hash = seal(*seen, payload) if erased is None else seal_digest(*seen, erased)
        self._time = min(at, LAST_MS)
        event_id, type_, parent_id = names
        return Event(self.seq, event_id, type_, payload, at, self._hash, parent_id, key, erased)


def _once(folder: SessionFolder, skipped: list[SkippedLine]) -> Iterator[FolderEvent]:
    """The entries without those that repeat an earlier one; BadArchive if one says otherwise under its id or key."""
    seen: dict[tuple[str, str], bytes] = {}
    for entry in folder.entries:
        event = entry.event
        said = hashlib.sha256(f"{event.type}\0".encode() + bytes(event.payload) + (entry.erased or b"")).digest()
        names = [("id", event.event_id or "")]
        names += [("key", event.idempotency_key)] if event.idempotency_key is not None else []
        before = [seen[name] for name in names if name in seen]
        if any(other != said for other in before):
            raise refuse("line", "its id or key was used before, with another body", entry.file, entry.line)
        if before:
            skipped.append(SkippedLine(entry.file, entry.line, "repeated: it was there before"))
            continue
        seen.update(dict.fromkeys(names, said))
        yield entry


@contextmanager
def _blaming(file: str) -> Iterator[None]:
    """Have what is wrong with a document say its file."""
    try:
        yield
    except BadArchive:
        raise
    except InvalidInput as error:
        raise refuse_line(error, file) from None
