"""Archives: what was deleted, readable until it is purged."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from holdfast.core import Event, HoldfastError, strict_json
from holdfast.core.chain import GENESIS
from holdfast.core.errors import Corrupt, InvalidInput, NotFound
from holdfast.core.ids import check_session_id
from holdfast.store.engine import Engine, Row, Tx
from holdfast.store.lanes.chores import makes_room
from holdfast.store.lifecycle import arrivals
from holdfast.store.lifecycle.arrivals import Progress
from holdfast.store.log.log_reader import STRETCH_BYTES, checked, count_within
from holdfast.store.part import Part
from holdfast.store.tasks import task_texts
from holdfast.store.text.word_index import ask_scrub
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

COLUMNS = """
    session_no, session_id, deleted_at, purged_at, reason, last_seq, last_hash, size_bytes"""
DOCUMENT = "SELECT document FROM archives WHERE tenant = ?1 AND session_id = ?2"
GET = f"SELECT {COLUMNS} FROM archives WHERE tenant = ?1 AND session_id = ?2"
LIST = f"""
    SELECT {COLUMNS} FROM archives
    WHERE tenant = ?1 AND deleted_at < ?2 AND (deleted_at, session_no) > (?3, ?4)
    ORDER BY deleted_at, session_no LIMIT ?5"""
DUE = """
    SELECT session_id FROM archives WHERE tenant = ?1 AND deleted_at < ?2 AND state = 'kept'
    ORDER BY deleted_at, session_no LIMIT ?3"""
INSERT_ARCHIVE = """
    INSERT INTO archives
      (session_no, tenant, session_id, deleted_at, reason, last_seq, last_hash, size_bytes, document, purged_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULL)"""
EVENTS = """
    SELECT e.seq, e.event_id, e.type, e.payload, e.created_at, e.hash, e.parent_id, e.idempotency_key, e.erased
    FROM archived_events e WHERE e.session_no = ?1 AND e.seq > ?2 AND e.seq <= ?3 ORDER BY e.seq"""
ON_THEIR_WAY = """
    SELECT e.seq, e.event_id, i.type, e.payload, e.created_at, e.hash, i.parent_id, i.idempotency_key, e.erased
    FROM transcript_events e
    JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no
    WHERE e.session_no = ?1 AND e.seq > ?2 AND e.seq <= ?3 ORDER BY e.seq"""
NEXT_SIZES = (
    "SELECT seq, length(payload) FROM {} WHERE session_no = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4"
)
SIZES = "SELECT seq, length(payload) FROM archived_events WHERE session_no = ?1 ORDER BY seq LIMIT ?2"
PURGING = """
    UPDATE archives SET purged_at = ?2, document = ?3, state = 'purging' WHERE session_no = ?1 AND state = 'kept'"""
PURGED = "UPDATE archives SET state = 'purged' WHERE session_no = ?1"
UNFINISHED = "SELECT session_no FROM archives WHERE state = 'purging' LIMIT 1"
DROP_EVENTS = "DELETE FROM archived_events WHERE session_no = ?1 AND seq <= ?2"
DROP_USES = "DELETE FROM attachment_uses WHERE session_no = ?1"
DROP_ARCHIVE = "DELETE FROM archives WHERE session_no = ?1"
RETURNING = "SELECT 1 FROM returns WHERE session_no = ?1"
LEFT = "SELECT count(*) FROM transcript_events WHERE session_no = ?1 AND seq <= ?2"


@dataclass(frozen=True, slots=True)
class DeletedSession:
    """A deleted session: when and why, and what its log was."""

    session_no: int
    session_id: str
    deleted_at: int
    purged_at: int | None
    reason: str
    events: int
    head_hash: bytes
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Archives(Part):
    """`store.archives`."""

    engine: Engine

    async def list(
        self, *, deleted_before: int | None = None, after: DeletedSession | None = None, limit: int = 500
    ) -> list[DeletedSession]:
        """What was deleted, the oldest first, purged or not: the first ones, or those after the last of a page."""
        before = 2**62 if deleted_before is None else deleted_before
        place = (-1, 0) if after is None else (after.deleted_at, after.session_no)
        rows = await self.workers.read(lambda tx: tx.all(LIST, self.tenant, before, *place, limit))
        return [_archived(row) for row in rows]

    async def due(self, deleted_before: int, *, limit: int = 500) -> Sequence[str]:
        """The ids of what was deleted before a time and is not purged, the oldest first."""
        rows = await self.workers.read(lambda tx: tx.all(DUE, self.tenant, deleted_before, limit))
        return [row[0] for row in rows]

    async def get(self, session_id: str) -> DeletedSession:
        """One deleted session, or NotFound."""
        check_session_id(session_id)
        found = await self.workers.read(lambda tx: get_archive(tx, self.tenant, session_id))
        if found is None:
            raise NotFound(f"session {session_id!r} was not deleted", session_id=session_id)
        return found

    async def about(self, session_id: str) -> dict[str, Any]:
        """What the session's row said when it was deleted, or NotFound."""
        check_session_id(session_id)
        row = await self.workers.read(lambda tx: tx.one(DOCUMENT, self.tenant, session_id))
        if row is None:
            raise NotFound(f"session {session_id!r} was not deleted", session_id=session_id)
        about: dict[str, Any] = strict_json.parse(row[0])
        return about

    async def events(self, session_id: str) -> AsyncIterator[Event]:
        """The deleted session's events, oldest first, checked like any other; NotFound once they are purged."""
        archived = await self.get(session_id)
        if archived.purged_at is not None:
            raise NotFound(f"the archive of session {session_id!r} was purged", session_id=session_id)
        after, prev = 0, GENESIS
        while after < archived.events:
            rows = await self.workers.read(lambda tx, after=after: self._page(tx, archived, after))  # type: ignore[misc]
            for row in rows:
                event = checked((*row, prev if row[0] > 1 else None))
                yield event
                after, prev = event.seq, event.hash
        if prev != archived.head_hash:
            raise Corrupt(f"the archive of session {session_id!r} does not end as it should", seq=after)

    async def purge(self, session_id: str, *, progress: Progress | None = None) -> DeletedSession:
        """Remove an archive's events for good; its id stays taken. The first write decides, and what the steps after
        it leave is a chore."""
        archived = await self.get(session_id)
        now = self.clock.now()

        def begin(tx: Tx) -> DeletedSession:
            there = get_archive(tx, self.tenant, session_id)
            if there is None:
                raise NotFound(f"session {session_id!r} was undeleted meanwhile", session_id=session_id)
            if tx.one(RETURNING, there.session_no) is not None:
                raise InvalidInput(f"session {session_id!r} is being undeleted", hint="try again soon")
            if tx.one(LEFT, there.session_no, there.events) != (0,):
                raise InvalidInput(f"session {session_id!r} is still on its way to the archive", hint="try again soon")
            tx.run(PURGING, archived.session_no, now, b"{}")
            tx.run(DROP_USES, archived.session_no)
            task_texts.drop_of_session(tx, archived.session_no)
            ask_scrub(tx, self.engine.text, "event_text")
            marked = get_archive(tx, self.tenant, session_id)
            assert marked is not None
            return marked

        purged = await self.write(session_id, begin, makes_room=True)
        with suppress(HoldfastError):
            while left := await self.write(
                session_id,
                lambda tx: purge(tx, archived.session_no, self.tuning),
                self.tuning.step_events,
                makes_room=True,
            ):
                if progress is not None:
                    progress(left, archived.events)
        return purged

    def _page(self, tx: Tx, archived: DeletedSession, after: int) -> Sequence[Row]:
        """The next events, of which some may be on their way to the archive, or on their way back."""
        wanted = min(self.tuning.archive_page, archived.events - after)
        number, last = archived.session_no, after + wanted
        if archived.size_bytes > STRETCH_BYTES:
            tables = (NEXT_SIZES.format(table) for table in ("archived_events", "transcript_events"))
            sizes = sorted(row for table in tables for row in tx.all(table, number, after, last, wanted))
            last = after + (count_within((size for _, size in sizes), STRETCH_BYTES) or wanted)
        rows = tx.all(EVENTS, number, after, last)
        if len(rows) < last - after:
            rows = sorted(rows + tx.all(ON_THEIR_WAY, number, after, last), key=lambda row: int(row[0]))
        if [row[0] for row in rows] != list(range(after + 1, last + 1)):
            now = get_archive(tx, self.tenant, archived.session_id)
            if now is None or now.deleted_at != archived.deleted_at:
                raise NotFound(f"session {archived.session_id!r} was undeleted meanwhile")
            if now.purged_at is not None:
                raise NotFound(f"the archive of session {archived.session_id!r} was purged meanwhile")
            raise Corrupt(f"the archive of session {archived.session_id!r} has a gap after {after}", seq=after + 1)
        return rows


def get_archive(tx: Tx, tenant: str, session_id: str) -> DeletedSession | None:
    """The archive of a deleted session, or None."""
    row = tx.one(GET, tenant, session_id)
    return None if row is None else _archived(row)


@makes_room
def purge_step(tx: Tx, tuning: StoreTuning = DEFAULT_TUNING) -> bool:
    """A chore: go on with a purge that was interrupted; True if there is more to do."""
    row = tx.one(UNFINISHED)
    if row is None or not tx.try_lock("purge"):
        return False
    purge(tx, row[0], tuning)
    return True


def purge(tx: Tx, session_no: int, tuning: StoreTuning) -> int:
    """Remove one step's worth of a purged archive's events; the last seq removed, 0 once nothing is left."""
    rows = tx.all(SIZES, session_no, tuning.step_events)
    if not rows:
        tx.run(PURGED, session_no)
        tx.leave_no_trace()
        return 0
    last = arrivals.last_of([(row[0], row[1]) for row in rows], tuning)
    tx.run(DROP_EVENTS, session_no, last)
    return last


def _archived(row: Row) -> DeletedSession:
    return DeletedSession(*row)
