"""Deleting a session: it is archived first.

One transaction ends the session: its last event says so, its id answers SessionGone from then on, its keys are free,
and the archive has its head. Its events then move to the archive in steps, each in exactly one place at any moment. The
session is deleted by then, so trouble with the move is nobody's failure: what is left of it is a chore.
The event that says that it was deleted stays where it is, for the feeds. What neither the log nor another row would
tell again is kept with the archive, for whoever undeletes it; but not credentials, which go.
"""

from contextlib import suppress

from holdfast.core import HoldfastError, strict_json
from holdfast.core.errors import Conflict, LegalHold
from holdfast.core.event_bodies import SessionDeleted
from holdfast.core.ids import check_session_id
from holdfast.store.engine import Tx
from holdfast.store.lanes.chores import makes_room
from holdfast.store.lifecycle import arrivals
from holdfast.store.lifecycle.archives import INSERT_ARCHIVE, DeletedSession, get_archive
from holdfast.store.lifecycle.arrivals import Progress
from holdfast.store.log.append import append
from holdfast.store.log.log_reader import existing_head
from holdfast.store.log.rows import clear_rows, get_facts
from holdfast.store.part import Part, session_lock
from holdfast.store.sessions.keys import entries_to, routes_to, unroute
from holdfast.store.sessions.sessions import get
from holdfast.store.tasks import leases, outbox, push_configs
from holdfast.store.text.word_index import forget_events
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

MOVE_EVENTS = 100
"""A step's events: each is written once and removed three times, so there are fewer than in other steps."""

LEAVE = "UPDATE sessions SET life = 'leaving' WHERE session_no = ?1"
GONE = "UPDATE sessions SET life = 'gone', user_id = NULL, size_bytes = 0, document = ?2 WHERE session_no = ?1"
LEASE = "SELECT expires_at FROM leases WHERE session_no = ?1"
DROP_LEASE = "DELETE FROM leases WHERE session_no = ?1"
LEAVING = """
    SELECT session_no, tenant, session_id FROM sessions WHERE life = 'leaving' ORDER BY session_no LIMIT 1"""
MOTION = """
    SELECT s.life, r.last_seq FROM sessions s JOIN archives r ON r.session_no = s.session_no WHERE s.session_no = ?1"""
ARCHIVE_EVENTS = """
    INSERT INTO archived_events
      (session_no, seq, created_at, event_id, type, parent_id, idempotency_key, hash, erased, payload)
    SELECT e.session_no, e.seq, e.created_at, e.event_id, coalesce(i.type, ''), i.parent_id, i.idempotency_key, e.hash,
      e.erased, e.payload
    FROM transcript_events e
    LEFT JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no
    WHERE e.session_no = ?1 AND e.seq >= ?2 AND e.seq <= ?3"""
"""An event that has lost its identity is kept as what is left of it; whoever reads it is told that it is damaged."""


class Deletion(Part):
    """`store.deletion`."""

    __slots__ = ()

    async def delete(
        self,
        session_id: str,
        *,
        reason: str = "",
        unchanged_at: int | None = None,
        progress: Progress | None = None,
    ) -> DeletedSession:
        """End the session and move its events to the archive; LegalHold if it is held.

        With `unchanged_at` Conflict if its log does not end at this seq any more, or it is leased to a writer.
        """
        check_session_id(session_id)
        event = self.own_event(SessionDeleted(reason))

        def end(tx: Tx) -> DeletedSession:
            if tx.rerun:
                done = get_archive(tx, self.tenant, session_id)
                if done is not None:
                    return done
            head = existing_head(tx, self.tenant, session_id)
            session = get(tx, self.tenant, session_id)
            if session.held:
                raise LegalHold(f"session {session_id!r} is under legal hold", session_id=session_id)
            if unchanged_at is not None and (head.seq != unchanged_at or _is_leased(tx, head.session_no)):
                raise Conflict(f"session {session_id!r} is in use again", session_id=session_id)
            facts = get_facts(tx, head.session_no)
            document = {
                "agent": session.agent,
                "userId": session.user_id,
                "status": session.status,
                "createdAt": session.created_at,
                "updatedAt": session.updated_at,
                "routes": [[route.key, route.started_at, route.ended_at] for route in routes_to(tx, head.session_no)],
                **facts.document,
                "kept": {
                    "keys": dict(entries_to(tx, head.session_no)),
                    "fence": leases.fence_of(tx, head.session_no),
                    "pushConfigs": push_configs.count_of_session(tx, head.session_no),
                },
            }
            if append(tx, self.tenant, session_id, [event]).replayed:
                raise Conflict(f"session {session_id!r} was deleted, and undeleted meanwhile", session_id=session_id)
            row = (head.session_no, self.tenant, session_id, event.created_at, reason, head.seq, head.hash)
            tx.run(INSERT_ARCHIVE, *row, session.size_bytes, strict_json.dump(document))
            unroute(tx, head.session_no, event.created_at)
            tx.run(DROP_LEASE, head.session_no)
            push_configs.drop_of_session(tx, head.session_no)
            outbox.drop_of_session(tx, head.session_no)
            tx.run(LEAVE, head.session_no)
            made = get_archive(tx, self.tenant, session_id)
            assert made is not None
            return made

        archived = await self.write(session_id, end, makes_room=True)
        with suppress(HoldfastError):
            await self._move(archived, progress)
        return archived

    async def _move(self, archived: DeletedSession, progress: Progress | None) -> None:
        left = archived.events + 1
        while left:
            left = await self.write(
                archived.session_id,
                lambda tx: move(tx, archived.session_no, self.tuning),
                self.tuning.step_events,
                makes_room=True,
            )
            if progress is not None:
                progress(archived.events - left, archived.events)


def _is_leased(tx: Tx, session_no: int) -> bool:
    row = tx.one(LEASE, session_no)
    return row is not None and bool(row[0] > tx.now())


@makes_room
def move_step(tx: Tx, tuning: StoreTuning = DEFAULT_TUNING) -> bool:
    """A chore: move a part of a deleted session to the archive; True if there is more to do."""
    row = tx.one(LEAVING)
    if row is None or not tx.try_lock(session_lock(row[1], row[2])):
        return False
    move(tx, row[0], tuning)
    return True


def move(tx: Tx, session_no: int, tuning: StoreTuning) -> int:
    """Move one step's worth of events to the archive; how many are left."""
    life, last_seq = tx.one(MOTION, session_no) or ("gone", 0)
    if life != "leaving":
        return 0
    span = arrivals.first_span(tx, session_no, tuning, up_to=last_seq, most=MOVE_EVENTS)
    if span is not None:
        tx.run(ARCHIVE_EVENTS, session_no, *span)
        forget_events(tx, session_no, *span)
        arrivals.drop_events(tx, session_no, *span)
        if span[1] < last_seq:
            return int(last_seq - span[1])
    clear_rows(tx, session_no, but=("attachment_uses", "usage"))
    tx.run(GONE, session_no, b"{}")
    return 0
