"""Import: sessions from a portable archive, with the same bytes and hashes.

The whole archive is read and checked before anything is written. Each session then arrives in steps and is shown
only when it is whole; short ones arrive together, as many as are a single step. One that is there already, as long
or longer, is left alone, so an import can be repeated; one that is there with another log is a conflict, found before
anything is written. What was checked is kept if it is little, so that it is not read twice.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from holdfast.core import Event, HoldfastError, Route
from holdfast.core.errors import Conflict, SessionArriving, SessionGone
from holdfast.store.attachments.attachments import Attachments, is_whole
from holdfast.store.engine import Engine, Tx
from holdfast.store.lifecycle import arrivals
from holdfast.store.lifecycle.arrivals import Arrival
from holdfast.store.log import key_seal
from holdfast.store.log.append import INSERT_EVENT_ERASED, INSERT_IDENTITY
from holdfast.store.log.key_seal import KeySeal
from holdfast.store.log.log_reader import head_of
from holdfast.store.log.projection import Projection
from holdfast.store.log.rows import write_rows
from holdfast.store.memory import memory_lines
from holdfast.store.memory.memory_rows import MemoryName
from holdfast.store.part import Part, key_lock
from holdfast.store.portable import ArchivedSession, ArchiveReader, SealedLog, SessionHeader
from holdfast.store.sessions.keys import find as find_key
from holdfast.store.sessions.keys import route, was_left_since
from holdfast.store.transfer.archive_check import CheckedSession, check
from holdfast.store.transfer.exports import Told
from holdfast.store.tuning import StoreTuning

Item = TypeVar("Item")

LOOKS = 200
"""Sessions that are looked for in one read."""

HASH_AT = "SELECT hash FROM transcript_events WHERE session_no = ?1 AND seq = ?2"
TASK_TAKEN = "SELECT 1 FROM tasks WHERE tenant = ?1 AND task_id = ?2"
SET_ROW = "UPDATE sessions SET created_at = ?2, key_seal = ?3 WHERE session_no = ?1"
PUT_ROUTE = """
    INSERT INTO session_routes (tenant, key, session_no, started_at, ended_at) VALUES (?1, ?2, ?3, ?4, ?5)"""


@dataclass(slots=True)
class ImportResult:
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
class Imports(Part):
    """`store.importing`."""

    engine: Engine

    async def archive(self, path: Path, *, told: Told | None = None) -> ImportResult:
        """Import everything that an archive holds; BadArchive or Conflict before anything is written.

        Only a task whose id another session here has is found later, when its session is to be shown: that one is
        not imported, and those before it are, whole. So they are if the store fails half-way: the error names in its
        details what was `imported`, and importing again goes on with the rest.
        """
        reader = await asyncio.to_thread(ArchiveReader, path)
        with reader:
            checked = await asyncio.to_thread(check, reader)
            done = ImportResult()
            try:
                await self._import(reader, checked, told, done)
            except HoldfastError as error:
                if done.sessions:
                    were = "session was" if len(done.sessions) == 1 else "sessions were"
                    error.after(f"{len(done.sessions)} {were} imported", imported=done.sessions)
                raise
            return done

    async def logs(self, sealed: Sequence[tuple[SessionHeader, SealedLog]]) -> ImportResult:
        """Import logs that this process has sealed, as from an archive of them; Conflict before anything is written."""
        done = ImportResult()
        sessions = [CheckedSession(header, list(log.events())) for header, log in sealed]
        there = await self._there(session.header for session in sessions)
        await self._in_memory(sessions, there, None, done)
        return done

    async def heads(self, session_ids: Sequence[str]) -> dict[str, int]:
        """Where the logs of those of these sessions end that are here, and not still arriving."""

        def look(tx: Tx, some: Sequence[str]) -> dict[str, int]:
            found = {}
            for session_id in some:
                with suppress(SessionGone, SessionArriving):
                    head = head_of(tx, self.tenant, session_id)
                    if head is not None:
                        found[session_id] = head.seq
            return found

        heads: dict[str, int] = {}
        for first in range(0, len(session_ids), LOOKS):
            heads |= await self.workers.read(partial(look, some=session_ids[first : first + LOOKS]))
        return heads

    async def _import(
        self, reader: ArchiveReader, checked: list[CheckedSession] | None, told: Told | None, done: ImportResult
    ) -> None:
        sessions: Iterator[ArchivedSession | CheckedSession] = reader.sessions() if checked is None else iter(checked)
        there = await self._there(session.header for session in sessions)
        await self._check_memories(reader)
        attachments = Attachments(self.tenant, self.workers, self.clock, self.ids, self.tuning)
        held: list[str] = []
        try:
            async for attachment in _each(reader.attachments()):
                held.append(attachment.digest)
                await attachments.put(_pieces(attachment.chunks), expected_digest=attachment.digest, hold=True)
                done.attachments += 1
            if checked is None:
                await self._sessions(reader, there, told, done)
            else:
                await self._in_memory(checked, there, told, done)
        finally:
            with suppress(HoldfastError):
                await attachments.let_go(held)
        async for line in _each(reader.memories()):
            memory = memory_lines.decode(line)
            lock = (MemoryName(self.tenant, memory.namespace, memory.key).lock(),)
            put = await self.workers.write(
                lambda tx, memory=memory: memory_lines.put(tx, self.engine.text, self.tenant, memory),  # type: ignore[misc]
                lock,
            )
            done.memories += put

    async def _sessions(self, reader: ArchiveReader, there: set[str], told: Told | None, done: ImportResult) -> None:
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

    async def _in_memory(
        self, checked: Sequence[CheckedSession], there: set[str], told: Told | None, done: ImportResult
    ) -> None:
        """Import sessions that are kept in memory, in their order, short ones together."""
        done.there_before += [each.header.session_id for each in checked if each.header.session_id in there]
        for some in self._steps([each for each in checked if each.header.session_id not in there]):
            for each in some:
                if told is not None:
                    told(each.header.session_id, each.header.head_seq)
            together = await self._together(some)
            for number, each in enumerate(some):
                done.keys_taken += await self._alone(each) if together is None else together[number]
                done.sessions.append(each.header.session_id)
                done.events += each.header.head_seq

    def _steps(self, sessions: Sequence[CheckedSession]) -> Iterator[list[CheckedSession]]:
        """Sessions in their order: as many together as are a single step; one that takes several is by itself."""
        some: list[CheckedSession] = []
        events = size = 0
        for session in sessions:
            more, larger = _extent(session)
            if some and (events + more > self._together_most or size + larger > self.tuning.step_bytes):
                yield some
                some, events, size = [], 0, 0
            some.append(session)
            events, size = events + more, size + larger
        if some:
            yield some

    @property
    def _together_most(self) -> int:
        return max(self.tuning.together_events, self.tuning.step_events)

    def _is_step(self, session: CheckedSession) -> bool:
        """Whether a session is a single step."""
        events, size = _extent(session)
        return events <= self.tuning.step_events and size <= self.tuning.step_bytes

    async def _together(self, sessions: Sequence[CheckedSession]) -> list[list[str]] | None:
        """Import sessions in one write, all or none; the keys that each did not get. None if each must come alone."""
        if not self._is_step(sessions[0]):
            return None
        writes = [self._whole(session) for session in sessions]
        locks = tuple(dict.fromkeys(lock for session in sessions for lock in self._locks(session.header)))
        weight = sum(len(session.events) + 1 for session in sessions)
        try:
            return await self.workers.write(lambda tx: [write(tx) for write in writes], locks, weight)
        except Conflict:
            if len(sessions) == 1:
                raise
            return None

    async def _alone(self, session: CheckedSession) -> list[str]:
        """Import one session; keys that it did not get."""
        if self._is_step(session):
            return await self.workers.write(self._whole(session), self._locks(session.header), len(session.events) + 1)
        return await self._session(ArchivedSession(session.header, iter(session.events)))

    def _whole(self, session: CheckedSession) -> Callable[[Tx], list[str]]:
        """What writes a session that is a single step."""
        header, events = session
        holder, now = self.ids(), self.clock.now()
        projection, seal = Projection().add(events), key_seal.before(1).with_events(events)

        def write(tx: Tx) -> list[str]:
            if tx.rerun and self._compare(tx, header):
                return []
            arrival = arrivals.begin(
                tx, self.tenant, header.session_id, holder, header.created_at, header.head_seq, self.tuning
            )
            _insert(tx, arrival, events, self.tuning)
            return self._put(tx, header, arrival, projection, seal, now)

        return write

    async def _there(self, headers: Iterator[SessionHeader]) -> set[str]:
        """The sessions that are here already; Conflict if one is here with another log, or was deleted."""
        found: set[str] = set()
        conflicts: list[str] = []

        def look(tx: Tx, some: Sequence[SessionHeader]) -> list[bool | None]:
            return [self._compare(tx, header) for header in some]

        while some := await asyncio.to_thread(lambda: list(islice(headers, LOOKS))):
            for header, here in zip(some, await self.workers.read(partial(look, some=some)), strict=True):
                if here is not None:
                    (found.add if here else conflicts.append)(header.session_id)
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
                tx, self.tenant, header.session_id, holder, header.created_at, header.head_seq, self.tuning
            ),
        )
        projection, seal = Projection(), key_seal.before(1)
        async with arrivals.holding(self.workers, arrival, self.tenant, self.tuning):
            while page := await asyncio.to_thread(_take, session.events, projection, self.tuning):
                seal = seal.with_events(page)
                await self.write(
                    header.session_id,
                    lambda tx, page=page: _insert(tx, arrival, page, self.tuning),  # type: ignore[misc]
                    len(page),
                )
            return await self._show(header, arrival, projection, seal)

    async def _show(self, header: SessionHeader, arrival: Arrival, projection: Projection, seal: KeySeal) -> list[str]:
        now = self.clock.now()

        def write(tx: Tx) -> list[str]:
            if tx.rerun and arrivals.is_shown(tx, arrival):
                return []
            arrivals.hold_on(tx, arrival, self.tuning)
            return self._put(tx, header, arrival, projection, seal, now)

        return await self.workers.write(write, self._locks(header), self.tuning.step_events)

    def _locks(self, header: SessionHeader) -> tuple[str, ...]:
        return (self.lock(header.session_id), *(key_lock(self.tenant, each.key) for each in header.routes))

    def _put(
        self, tx: Tx, header: SessionHeader, arrival: Arrival, projection: Projection, seal: KeySeal, now: int
    ) -> list[str]:
        """Make a session whose events are all there one like any other; keys that it did not get."""
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


def _extent(session: CheckedSession) -> tuple[int, int]:
    """How many events a session has, and how many bytes they have."""
    return len(session.events), sum(len(event.payload) for event in session.events)


def _take(events: Iterator[Event], projection: Projection, tuning: StoreTuning) -> list[Event]:
    """The next step's worth of events, folded into the projection; empty at the end."""
    page: list[Event] = []
    size = 0
    for event in events:
        page.append(event)
        size += len(event.payload)
        if len(page) == tuning.step_events or size > tuning.step_bytes:
            break
    projection.add(page)
    return page


def _insert(tx: Tx, arrival: Arrival, page: list[Event], tuning: StoreTuning) -> None:
    arrivals.hold_on(tx, arrival, tuning)
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
