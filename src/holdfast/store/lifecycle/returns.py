"""Sessions on their way back: what was deleted moves from the archive to the log again, in steps.

A returning session is still deleted for everybody, and each of its events is in one place at any moment. Whoever brings
it back says so again and again. When that stops, the session is on its way out again, as it was just after its
deletion, and the same chore moves its events to the archive. So an undelete that was interrupted leaves a deleted
session.
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from holdfast.core import HoldfastError, strict_json
from holdfast.core.errors import ArchivePurged, Conflict, NotDeleted, NotFound, SessionArriving
from holdfast.store.engine import Tx
from holdfast.store.lanes.chores import makes_room
from holdfast.store.lifecycle import arrivals
from holdfast.store.lifecycle.archives import DOCUMENT, DROP_EVENTS, SIZES, DeletedSession, get_archive
from holdfast.store.lifecycle.deletion import MOVE_EVENTS, move
from holdfast.store.log.log_reader import Head, absent
from holdfast.store.part import Workers, session_lock
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

FIND = "SELECT session_no, life, head_seq, head_hash FROM sessions WHERE tenant = ?1 AND session_id = ?2"
RETURN = "SELECT holder, expires_at FROM returns WHERE session_no = ?1"
INSERT_RETURN = "INSERT INTO returns (session_no, holder, expires_at) VALUES (?1, ?2, ?3)"
EXTEND = "UPDATE returns SET expires_at = ?2 WHERE session_no = ?1"
DROP_RETURN = "DELETE FROM returns WHERE session_no = ?1"
EXPIRE_ALL = "UPDATE returns SET expires_at = 0"
EXPIRED = """
    SELECT r.session_no, s.tenant, s.session_id FROM returns r JOIN sessions s ON s.session_no = r.session_no
    WHERE r.expires_at <= ?1 ORDER BY r.session_no LIMIT 1"""
STILL_EXPIRED = "SELECT 1 FROM returns WHERE session_no = ?1 AND expires_at <= ?2"
COME_BACK = "UPDATE sessions SET life = 'returning' WHERE session_no = ?1"
LEAVE_AGAIN = "UPDATE sessions SET life = 'leaving' WHERE session_no = ?1 AND life = 'returning'"
ARCHIVED = "SELECT 1 FROM archived_events WHERE session_no = ?1 LIMIT 1"
LAST_ARCHIVED = "SELECT coalesce(max(seq), 0) FROM archived_events WHERE session_no = ?1"
RETURN_EVENTS = """
    INSERT INTO transcript_events (session_no, seq, created_at, event_id, hash, payload, erased)
    SELECT session_no, seq, created_at, event_id, hash, payload, erased FROM archived_events
    WHERE session_no = ?1 AND seq <= ?2 ORDER BY seq"""
RETURN_IDENTITIES = """
    INSERT INTO transcript_event_identities (session_no, seq, event_id, type, parent_id, idempotency_key)
    SELECT session_no, seq, event_id, type, parent_id, idempotency_key FROM archived_events
    WHERE session_no = ?1 AND seq <= ?2 AND type <> ''"""
"""An event that had lost its identity when it was archived has none when it comes back."""


@dataclass(frozen=True, slots=True)
class ReturningSession:
    """A session on its way back, who brings it, and what is known of it."""

    archive: DeletedSession
    head: Head
    about: dict[str, Any]
    holder: str

    @property
    def session_no(self) -> int:
        """The number of its row."""
        return self.archive.session_no


def begin(
    tx: Tx, tenant: str, session_id: str, holder: str, tuning: StoreTuning = DEFAULT_TUNING
) -> ReturningSession | None:
    """Bring a deleted session on its way back; None if it first had to go a step further out.

    One that has begun to move goes on to the archive before it comes back, so that its events return in their order.
    One of which nothing has moved yet stays where it is. NotFound, NotDeleted, ArchivePurged or SessionArriving
    otherwise.
    """
    row = tx.one(FIND, tenant, session_id)
    if row is None:
        raise NotFound(f"there is no session {session_id!r}", session_id=session_id)
    session_no, life, head_seq, head_hash = row
    if life == "live":
        raise NotDeleted(f"session {session_id!r} was not deleted, or is undeleted already", session_id=session_id)
    archive = get_archive(tx, tenant, session_id)
    if archive is None:
        raise absent(session_id, life)
    if archive.purged_at is not None:
        raise ArchivePurged(f"the archive of session {session_id!r} was purged", session_id=session_id)
    about = tx.one(DOCUMENT, tenant, session_id)
    assert about is not None
    back = ReturningSession(archive, Head(session_no, head_seq, head_hash), strict_json.parse(about[0]), holder)
    there = tx.one(RETURN, session_no)
    if there is not None and there[0] == holder:
        return back
    if there is not None:
        if there[1] > tx.now():
            raise SessionArriving(f"session {session_id!r} is being undeleted already", session_id=session_id)
        undo(tx, session_no)
        life = "leaving"
    if life == "leaving" and tx.one(ARCHIVED, session_no) is not None and move(tx, session_no, tuning):
        return None
    tx.run(COME_BACK, session_no)
    tx.run(INSERT_RETURN, session_no, holder, tx.now() + tuning.arrival_ms)
    return back


def hold_on(tx: Tx, back: ReturningSession, tuning: StoreTuning = DEFAULT_TUNING) -> None:
    """Say that the session is still on its way back; Conflict if that was given up meanwhile."""
    row = tx.one(RETURN, back.session_no)
    if row is None or row[0] != back.holder:
        raise Conflict(
            f"the undelete of session {back.archive.session_id!r} was given up: it took too long a pause, or events of "
            "the session were erased meanwhile",
            hint="undelete it again",
        )
    tx.run(EXTEND, back.session_no, tx.now() + tuning.arrival_ms)


@contextlib.asynccontextmanager
async def holding(workers: Workers, back: ReturningSession, tenant: str, tuning: StoreTuning) -> AsyncIterator[None]:
    """Say again and again that the session is on its way back, however long a step takes; if it fails, undo it."""
    lock = session_lock(tenant, back.archive.session_id)

    def give_up_now(tx: Tx) -> None:
        row = tx.one(RETURN, back.session_no)
        if row is not None and row[0] == back.holder:
            undo(tx, back.session_no)

    async def give_up() -> None:
        with contextlib.suppress(HoldfastError):  # the rest is a chore
            await workers.write(give_up_now, (lock,), makes_room=True)
            while await workers.write(
                lambda tx: move(tx, back.session_no, tuning), (lock,), tuning.step_events, makes_room=True
            ):
                pass

    async with arrivals.saying_so(workers, lock, lambda tx: hold_on(tx, back, tuning), give_up, tuning):
        yield


def come_back(tx: Tx, back: ReturningSession, tuning: StoreTuning) -> int:
    """Move one step's worth of events from the archive to the log, the oldest first; how many are left."""
    hold_on(tx, back, tuning)
    rows = tx.all(SIZES, back.session_no, min(MOVE_EVENTS, tuning.step_events))
    if not rows:
        return 0
    last = arrivals.last_of([(row[0], row[1]) for row in rows], tuning)
    tx.run(RETURN_EVENTS, back.session_no, last)
    tx.run(RETURN_IDENTITIES, back.session_no, last)
    tx.run(DROP_EVENTS, back.session_no, last)
    left = tx.one(LAST_ARCHIVED, back.session_no)
    assert left is not None
    return max(int(left[0]) - last, 0)


def undo(tx: Tx, session_no: int) -> None:
    """Let a session that is on its way back, if it is, go out again."""
    tx.run(DROP_RETURN, session_no)
    tx.run(LEAVE_AGAIN, session_no)


@makes_room
def undo_step(tx: Tx, tuning: StoreTuning = DEFAULT_TUNING) -> bool:
    """A chore: give up an undelete that nobody goes on with; True if there is more to do."""
    now = tx.now()
    row = tx.one(EXPIRED, now)
    if row is None or not tx.try_lock(session_lock(row[1], row[2])):
        return False
    if tx.one(STILL_EXPIRED, row[0], now) is not None:
        undo(tx, row[0])
    return True


async def declare_all_dead(workers: Workers) -> None:
    """Give up every undelete: for a process that knows it is the store's only one."""
    await workers.write(lambda tx: tx.run(EXPIRE_ALL), (), makes_room=True)
