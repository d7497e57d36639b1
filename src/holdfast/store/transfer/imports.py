"""Import: sessions from a portable archive, with the same bytes and hashes.

The whole archive is read and checked before anything is written. Each session then arrives in steps and is shown
only when it is whole. One that is there already, as long or longer, is left alone, so an import can be repeated; one
that is there with another log is a conflict, found before anything is written.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from holdfast.core import Event, HoldfastError, Route, event_bodies
from holdfast.core.errors import BadArchive, Conflict, InvalidInput, SessionGone
from holdfast.core.event_bodies import AttachmentAdded
from holdfast.store.attachments.attachments import Attachments, is_whole
from holdfast.store.engine import Engine, Tx
from holdfast.store.lifecycle import arrivals
from holdfast.store.lifecycle.arrivals import Arrival
from holdfast.store.log import key_seal
from holdfast.store.log.append import INSERT_EVENT_ERASED, INSERT_IDENTITY
from holdfast.store.log.key_seal import KeySeal
from holdfast.store.log.projection import Projection
from holdfast.store.log.reading import head_of
from holdfast.store.log.rows import write_rows
from holdfast.store.memory import memory_lines
from holdfast.store.memory.memory_rows import Name
from holdfast.store.part import Part, key_lock
from holdfast.store.portable import ArchivedSession, ArchiveReader, SessionHeader
from holdfast.store.sessions.keys import find as find_key
from holdfast.store.sessions.keys import route, was_left_since
from holdfast.store.transfer.exports import Told

Item = TypeVar("Item")

HASH_AT = "SELECT hash FROM transcript_events WHERE session_no = ?1 AND seq = ?2"
TASK_TAKEN = "SELECT 1 FROM tasks WHERE tenant = ?1 AND task_id = ?2"
SET_ROW = "UPDATE sessions SET created_at = ?2, key_seal = ?3 WHERE session_no = ?1"
PUT_ROUTE = """
    INSERT INTO session_routes (tenant, key, session_no, started_at, ended_at) VALUES (?1, ?2, ?3, ?4, ?5)"""


@dataclass(slots=True)
class Imported:
    """What an import did."""

    sessions: list[str] = field(default_factory=list)
    there_before: list[str] = field(default_factory=list)
    events: int = 0
    attachments: int = 0
    memories: int = 0
    keys_taken: list[str] = field(default_factory=list)
    """Keys that route to other sessions here, or were reset here later: they stay as they are, the imported route is
    recorded as ended."""


@dataclass(frozen=True, slots=True)
class Importing(Part):
    """`store.importing`."""

    engine: Engine

    async def archive(self, path: Path, *, told: Told | None = None) -> Imported:
        """Import everything that an archive holds; BadArchive or Conflict before anything is written.

        Only a task whose id another session here has is found later, when its session is to be shown: that one is
        not imported, and those before it are, whole. So they are if the store fails half-way: the error names in its
        details what was `imported`, and importing again goes on with the rest.
        """
        reader = await asyncio.to_thread(ArchiveReader, path)
        with reader:
            await asyncio.to_thread(check, reader)
            done = Imported()
            try:
                await self._import(reader, told, done)
            except HoldfastError as error:
                if done.sessions:
                    were = "session was" if len(done.sessions) == 1 else "sessions were"
                    error.after(f"{len(done.sessions)} {were} imported", imported=done.sessions)
                raise
            return done

    async def _import(self, reader: ArchiveReader, told: Told | None, done: Imported) -> None:
        there = await self._there(reader)
        await self._check_memories(reader)
        attachments = Attachments(self.tenant, self.workers, self.clock, self.ids)
        held: list[str] = []
        try:
            async for attachment in _each(reader.attachments()):
                held.append(attachment.digest)
                await attachments.put(_pieces(attachment.chunks), expected_digest=attachment.digest, hold=True)
                done.attachments += 1
            await self._sessions(reader, there, told, done)
        finally:
            with suppress(HoldfastError):
                await attachments.let_go(held)
        async for line in _each(reader.memories()):
            memory = memory_lines.decode(line)
            lock = (Name(self.tenant, memory.namespace, memory.key).lock(),)
            put = await self.workers.write(
                lambda tx, memory=memory: memory_lines.put(tx, self.engine.text, self.tenant, memory),  # type: ignore[misc]
                lock,
            )
            done.memories += put

    async def _sessions(self, reader: ArchiveReader, there: set[str], told: Told | None, done: Imported) -> None:
        async for session in _each(reader.sessions()):
            name = session.header.session_id
            if name in there:
                done.there_before.append(name)
                continue
            if told is not None:
                told(name, session.header.head_seq)
            done.keys_taken += await self._session(session)
            done.sessions.append(name)
            done.events += session.header.head_seq

    async def _there(self, reader: ArchiveReader) -> set[str]:
        """The sessions that are here already; Conflict if one is here with another log, or was deleted."""
        found: set[str] = set()
        conflicts: list[str] = []
        async for session in _each(reader.sessions()):
            header = session.header
            here = await self.workers.read(lambda tx, header=header: self._compare(tx, header))  # type: ignore[misc]
            if here is False:
                conflicts.append(header.session_id)
            elif here:
                found.add(header.session_id)
        if conflicts:
            raise Conflict(
                f"{len(conflicts)} sessions are here with another log, or were deleted: {', '.join(conflicts[:5])}",
                hint="delete or rename nothing by force: import into another tenant or store, and compare",
                sessions=conflicts[:100],
            )
        return found

    async def _check_memories(self, reader: ArchiveReader) -> None:
        """Conflict if a memory is here with another history."""
        async for line in _each(reader.memories()):
            memory = memory_lines.decode(line)
            await self.workers.read(lambda tx, memory=memory: memory_lines.is_there(tx, self.tenant, memory))  # type: ignore[misc]

    def _compare(self, tx: Tx, header: SessionHeader) -> bool | None:
        """Whether the session is here with this log; None if it is not here at all."""
        try:
            head = head_of(tx, self.tenant, header.session_id)
        except SessionGone:
            return False
        if head is None:
            return None
        if not header.head_seq:
            return True
        row = tx.one(HASH_AT, head.session_no, header.head_seq)
        return row is not None and row[0] == header.head_hash

    async def _session(self, session: ArchivedSession) -> list[str]:
        header = session.header
        holder = self.ids()
        arrival = await self.write(
            header.session_id,
            lambda tx: arrivals.begin(
                tx, self.tenant, header.session_id, holder, header.created_at, copied_seq=header.head_seq
            ),
        )
        projection, seal = Projection(), key_seal.before(1)
        async with arrivals.holding(self.workers, arrival, self.tenant):
            while page := await asyncio.to_thread(_take, session.events, projection):
                seal = seal.with_events(page)
                await self.write(
                    header.session_id,
                    lambda tx, page=page: _insert(tx, arrival, page),  # type: ignore[misc]
                    len(page),
                )
            return await self._show(header, arrival, projection, seal)

    async def _show(self, header: SessionHeader, arrival: Arrival, projection: Projection, seal: KeySeal) -> list[str]:
        now = self.clock.now()

        def write(tx: Tx) -> list[str]:
            if tx.rerun and arrivals.is_shown(tx, arrival):
                return []
            arrivals.hold_on(tx, arrival)
            for task_id in projection.tasks:
                if tx.one(TASK_TAKEN, self.tenant, task_id) is not None:
                    raise Conflict(f"task {task_id!r} of session {header.session_id!r} is here already")
            for digest in projection.attachments:
                if not is_whole(tx, self.tenant, digest):
                    raise Conflict(f"the bytes of attachment {digest} are not here any more", hint="import again")
            write_rows(tx, self.tenant, arrival.session_no, projection)
            tx.run(SET_ROW, arrival.session_no, header.created_at, seal.stored())
            arrivals.show(tx, arrival, header.head_seq, header.head_hash, header.updated_at)
            return self._route(tx, header, arrival.session_no, now)

        keys = tuple(key_lock(self.tenant, each.key) for each in header.routes)
        return await self.workers.write(write, (self.lock(header.session_id), *keys), arrivals.STEP_EVENTS)

    def _route(self, tx: Tx, header: SessionHeader, session_no: int, now: int) -> list[str]:
        taken: list[str] = []
        for each in header.routes:
            ended_at = each.ended_at
            if ended_at is None and self._is_taken(tx, each):
                taken.append(each.key)
                ended_at = now
            if ended_at is None:
                route(tx, self.tenant, each.key, session_no, each.started_at)
            else:
                tx.run(PUT_ROUTE, self.tenant, each.key, session_no, each.started_at, ended_at)
        return taken

    def _is_taken(self, tx: Tx, imported: Route) -> bool:
        """Whether the key routes elsewhere here, or was reset or left without a session since the route began."""
        if find_key(tx, self.tenant, imported.key) is not None:
            return True
        return was_left_since(tx, self.tenant, imported.key, imported.started_at)


def check(reader: ArchiveReader) -> None:
    """Read all of an archive; BadArchive if anything in it could not be imported, or not be exported again."""
    missing: dict[str, SessionHeader] = {}
    for session in reader.sessions():
        names: set[tuple[str, str]] = set()
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
    for attachment in reader.attachments():
        missing.pop(attachment.digest, None)
        for _ in attachment.chunks:
            pass
    for digest, header in missing.items():
        raise _bad(header, f"it has attachment {digest}, whose bytes are not in the archive")
    last = ("", "")
    for line in reader.memories():
        memory = memory_lines.decode(line)
        name_of = (memory.namespace, memory.key)
        if name_of <= last:
            raise BadArchive(f"memory {memory.key!r} is there twice, or out of order", reason="memory")
        last = name_of


def _bad(header: SessionHeader, message: str) -> BadArchive:
    return BadArchive(f"session {header.session_id!r}: {message}", session_id=header.session_id, reason="event")


def _take(events: Iterator[Event], projection: Projection) -> list[Event]:
    """The next step's worth of events, folded into the projection; empty at the end."""
    page: list[Event] = []
    size = 0
    for event in events:
        page.append(event)
        size += len(event.payload)
        if len(page) == arrivals.STEP_EVENTS or size > arrivals.STEP_BYTES:
            break
    projection.add(page)
    return page


def _insert(tx: Tx, arrival: Arrival, page: list[Event]) -> None:
    arrivals.hold_on(tx, arrival)
    number = arrival.session_no
    if tx.rerun and tx.one(HASH_AT, number, page[-1].seq) is not None:
        return
    tx.run_many(
        INSERT_EVENT_ERASED,
        [(number, e.seq, e.created_at, e.event_id, e.hash, e.payload, e.erased) for e in page],
    )
    tx.run_many(
        INSERT_IDENTITY,
        [(number, e.seq, e.event_id, e.type, e.parent_id, e.idempotency_key) for e in page],
    )


async def _each(items: Iterator[Item]) -> AsyncIterator[Item]:
    """What an iterator gives, looked for on a thread: it may have to go through all of an archive to the next one."""
    while (item := await asyncio.to_thread(next, items, None)) is not None:
        yield item


async def _pieces(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(next, chunks, b""):
        yield chunk
