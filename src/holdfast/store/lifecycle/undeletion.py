"""Undeleting a session: what a deletion did is undone, for as long as its archive was not purged.

The session comes back with the id, events, hashes and idempotency keys that it had; its rows are derived again from its
log, and its next event says that it was restored. It is shown by one write, whole; until then it is deleted. A key that
it had routes to it again, unless the key was used meanwhile: what was said after the deletion stays where it was said.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET

from holdfast.core import Event
from holdfast.core.errors import Conflict, Corrupt
from holdfast.core.event_bodies import SessionRestored
from holdfast.core.ids import check_session_id
from holdfast.store.engine import Tx
from holdfast.store.lifecycle import returns
from holdfast.store.lifecycle.archives import DROP_ARCHIVE
from holdfast.store.lifecycle.arrivals import Progress
from holdfast.store.lifecycle.returns import DROP_RETURN, ReturningSession
from holdfast.store.log.append import append
from holdfast.store.log.derive import derive
from holdfast.store.log.log_reader import existing_head
from holdfast.store.log.prepare import PreparedEvent, with_body
from holdfast.store.log.projection import Projection
from holdfast.store.log.replay import first_body, look_up
from holdfast.store.log.rows import clear_rows, write_rows
from holdfast.store.part import Part, key_lock
from holdfast.store.sessions.keys import route_back
from holdfast.store.tasks import leases

LIFE = "SELECT life FROM sessions WHERE session_no = ?1"
SHOW = """
    UPDATE sessions SET life = 'live', copied_seq = CASE WHEN copied_seq > ?2 THEN copied_seq ELSE ?2 END
    WHERE session_no = ?1"""
"""What came back is no news to a feed, which told it when it was written."""
TASK_TAKEN = """
    SELECT s.session_id FROM tasks t JOIN sessions s ON s.session_no = t.session_no
    WHERE t.tenant = ?1 AND t.task_id = ?2"""


@dataclass(frozen=True, slots=True)
class UndeletedSession:
    """A session that is back: its log as it is now, where its keys lead, and what the deletion took for good."""

    session_id: str
    events: int
    head_hash: bytes
    keys: tuple[str, ...]
    keys_taken: tuple[str, ...]
    not_restored: tuple[str, ...]


class Undeletion(Part):
    """`store.undeletion`."""

    __slots__ = ()

    async def undelete(self, session_id: str, *, progress: Progress | None = None) -> UndeletedSession:
        """Bring a deleted session back, whole.

        NotFound if there never was one; NotDeleted if it is there; ArchivePurged if it was removed for good; Corrupt,
        and it stays deleted, if its archive is damaged. Of two who undelete it at once, one is told SessionArriving.
        """
        check_session_id(session_id)
        holder = self.ids()
        back = None
        while back is None:
            back = await self.write(
                session_id,
                lambda tx: returns.begin(tx, self.tenant, session_id, holder, self.tuning),
                self.tuning.step_events,
            )
        async with returns.holding(self.workers, back, self.tenant, self.tuning):
            await self._come_back(back, progress)
            derived = await self._derived(back)
            return await self._show(back, derived)

    async def _come_back(self, back: ReturningSession, progress: Progress | None) -> None:
        left = back.archive.events
        while left:
            left = await self.write(
                back.archive.session_id,
                lambda tx: returns.come_back(tx, back, self.tuning),
                self.tuning.step_events,
            )
            if progress is not None:
                progress(back.archive.events - left, back.archive.events)

    async def _derived(self, back: ReturningSession) -> Projection:
        """What the log says, which is read as a whole and checked on the way."""
        last = b""

        def seen(events: Sequence[Event]) -> None:
            nonlocal last
            last = events[-1].hash

        derived = await derive(self.workers, back.head, seen=seen)
        if last != back.head.hash:
            raise Corrupt(f"the session's head is not the hash of event {back.head.seq}", seq=back.head.seq)
        return derived

    async def _show(self, back: ReturningSession, derived: Projection) -> UndeletedSession:
        session_id = back.archive.session_id
        draft = self.own_draft(SessionRestored)
        wanted = [key for key, _, ended_at in back.about.get("routes", ()) if ended_at is None]

        def write(tx: Tx) -> UndeletedSession:
            if tx.rerun and tx.one(LIFE, back.session_no) == ("live",):
                return self._told(tx, back, draft, derived)
            returns.hold_on(tx, back, self.tuning)
            clear_rows(tx, back.session_no)
            for task_id in derived.tasks:
                other = tx.one(TASK_TAKEN, self.tenant, task_id)
                if other is not None:
                    raise Conflict(f"task {task_id!r} of session {session_id!r} is one of {other[0]!r} by now")
            write_rows(tx, self.tenant, back.session_no, derived)
            tx.run(SHOW, back.session_no, back.archive.events)
            tx.run(DROP_RETURN, back.session_no)
            tx.run(DROP_ARCHIVE, back.session_no)
            self._go_on_leasing(tx, back)
            keys = self._route(tx, back, wanted, draft.created_at)
            taken = [key for key in wanted if key not in keys]
            append(tx, self.tenant, session_id, [with_body(draft, SessionRestored(keys, taken or UNSET))], create=False)
            return self._told(tx, back, draft, derived)

        locks = (self.lock(session_id), *(key_lock(self.tenant, key) for key in wanted))
        return await self.workers.write(write, locks, self.tuning.step_events)

    def _route(self, tx: Tx, back: ReturningSession, wanted: list[str], at: int) -> list[str]:
        """Give the session the keys back that it had and nobody has used since; which they are."""
        made_at = _kept(back).get("keys", {})
        return [
            key
            for key in wanted
            if route_back(
                tx, self.tenant, key, back.session_no, at, left_at=back.archive.deleted_at, made_at=made_at.get(key)
            )
        ]

    def _go_on_leasing(self, tx: Tx, back: ReturningSession) -> None:
        """See to it that a writer from before the deletion stays fenced. An archive that does not say how far the
        numbers had come goes on after a larger one than any that was counted."""
        fence = _kept(back).get("fence", back.archive.deleted_at)
        if fence:
            leases.go_on_after(tx, back.session_no, fence)

    def _told(self, tx: Tx, back: ReturningSession, event: PreparedEvent, derived: Projection) -> UndeletedSession:
        """What the write that shows the session made of it."""
        session_id = back.archive.session_id
        head = existing_head(tx, self.tenant, session_id)
        (found,) = look_up(tx, head, "event_id", [event.event_id])
        said = first_body(found, SessionRestored)
        taken = () if said.keys_taken is UNSET else tuple(said.keys_taken)
        return UndeletedSession(
            session_id, head.seq, head.hash, tuple(said.keys), taken, _not_restored(_kept(back), derived)
        )


def _kept(back: ReturningSession) -> dict[str, Any]:
    """What the deletion kept beside the log; nothing, if it was one by an earlier version."""
    kept: dict[str, Any] = back.about.get("kept", {})
    return kept


def _not_restored(kept: dict[str, Any], derived: Projection) -> tuple[str, ...]:
    """What the deletion took for good, in words: places to post to, because they have credentials."""
    count = kept.get("pushConfigs")
    if count:
        return (f"push configurations of its tasks: {count}",)
    if count is None and derived.tasks:
        return (
            "push configurations of its tasks, if there were any: it was deleted by a version that did not count them",
        )
    return ()
