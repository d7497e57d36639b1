"""Forks: a new session with another's log up to a point, and from there its own.

The copied events keep their ids, bytes and hashes, so both logs are the same up to the fork. The source is not
touched and may go on meanwhile. A checkpoint is branched (a new session, on a new key if one is named) or restored
(a new session that takes the old one's place on its keys).
"""

from dataclasses import dataclass, replace

from holdfast.core import Session
from holdfast.core.errors import Conflict, Corrupt, InvalidInput
from holdfast.core.event_bodies import SessionForked, SessionReset
from holdfast.core.ids import check_name, check_session_id
from holdfast.store.engine import Tx
from holdfast.store.lifecycle import arrivals
from holdfast.store.lifecycle.arrivals import Arrival, Progress
from holdfast.store.log.append import append
from holdfast.store.log.derive import derive
from holdfast.store.log.log_reader import Head, erased_since, existing_head, read
from holdfast.store.log.projection import Projection, forked
from holdfast.store.log.rows import write_rows
from holdfast.store.part import Part, key_lock
from holdfast.store.sessions.checkpoints import Checkpoints, check_seq
from holdfast.store.sessions.keys import find, keys_to, route, supersede
from holdfast.store.sessions.sessions import get

SIZES = """
    SELECT seq, length(payload) FROM transcript_events
    WHERE session_no = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4"""
ARRIVED = "SELECT coalesce(max(seq), 0) FROM transcript_events WHERE session_no = ?1"
COPY_EVENTS = """
    INSERT INTO transcript_events (session_no, seq, created_at, event_id, hash, payload, erased)
    SELECT CAST(?1 AS BIGINT), seq, created_at, event_id, hash, payload, erased FROM transcript_events
    WHERE session_no = ?2 AND seq >= ?3 AND seq <= ?4 ORDER BY seq"""
COPY_IDENTITIES = """
    INSERT INTO transcript_event_identities (session_no, seq, event_id, type, parent_id, idempotency_key)
    SELECT CAST(?1 AS BIGINT), i.seq, i.event_id, i.type, i.parent_id, i.idempotency_key
    FROM transcript_events e
    JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no
    WHERE e.session_no = ?2 AND e.seq >= ?3 AND e.seq <= ?4"""


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """What a fork is to be."""

    source: str
    seq: int
    session_id: str
    key: str | None = None
    take_place: bool = False


class Forks(Part):
    """`store.forks`."""

    __slots__ = ()

    async def fork(
        self,
        session_id: str,
        *,
        at: int | None = None,
        new_session_id: str | None = None,
        key: str | None = None,
        progress: Progress | None = None,
    ) -> Session:
        """A new session with this one's log up to seq `at`, or all of it; on a new key if one is named."""
        return await self._fork(session_id, at, new_session_id, key, progress, take_place=False)

    async def branch(
        self,
        session_id: str,
        checkpoint_id: str,
        *,
        key: str | None = None,
        new_session_id: str | None = None,
        progress: Progress | None = None,
    ) -> Session:
        """A fork at a checkpoint; the source keeps its keys."""
        seq = await self._checkpoint_seq(session_id, checkpoint_id)
        return await self._fork(session_id, seq, new_session_id, key, progress, take_place=False)

    async def restore(
        self,
        session_id: str,
        checkpoint_id: str,
        *,
        new_session_id: str | None = None,
        progress: Progress | None = None,
    ) -> Session:
        """A fork at a checkpoint that takes the session's place on its keys."""
        seq = await self._checkpoint_seq(session_id, checkpoint_id)
        return await self._fork(session_id, seq, new_session_id, None, progress, take_place=True)

    async def _checkpoint_seq(self, session_id: str, checkpoint_id: str) -> int:
        checkpoints = Checkpoints(self.tenant, self.workers, self.clock, self.ids, self.tuning)
        return (await checkpoints.get(session_id, checkpoint_id)).seq

    async def _fork(
        self,
        session_id: str,
        at: int | None,
        new_session_id: str | None,
        key: str | None,
        progress: Progress | None,
        *,
        take_place: bool,
    ) -> Session:
        check_session_id(session_id)
        chosen = check_session_id(new_session_id) if new_session_id is not None else self.ids()
        if chosen == session_id:
            raise InvalidInput("a fork needs an id of its own")
        if key is not None:
            check_name(key, "a session key")

        def look(tx: Tx) -> Head:
            if key is not None:
                _check_free(tx, self.tenant, key, chosen)
            return existing_head(tx, self.tenant, session_id)

        head = await self.workers.read(look)
        if not head.seq:
            raise InvalidInput(f"session {session_id!r} has no events to fork")
        plan = ForkPlan(session_id, head.seq if at is None else check_seq(at, head), chosen, key, take_place)
        now, holder = self.clock.now(), self.ids()
        arrival = await self.write(
            chosen, lambda tx: arrivals.begin(tx, self.tenant, chosen, holder, now, plan.seq, self.tuning)
        )
        async with arrivals.holding(self.workers, arrival, self.tenant, self.tuning):
            await self._copy(plan, head, arrival, progress)
            target = await self._arrived(plan, head, arrival)
            derived = await derive(self.workers, target)
            return await self._show(plan, head, target, arrival, derived)

    async def _copy(self, plan: ForkPlan, source: Head, arrival: Arrival, progress: Progress | None) -> None:
        done = 0

        def step(tx: Tx) -> int:
            arrivals.hold_on(tx, arrival, self.tuning)
            arrived = tx.one(ARRIVED, arrival.session_no) if tx.rerun else None
            if arrived is not None and arrived[0] > done:
                return int(arrived[0])
            rows = tx.all(SIZES, source.session_no, done, plan.seq, self.tuning.step_events)
            if not rows or rows[0][0] != done + 1:
                existing_head(tx, self.tenant, plan.source)
                raise Corrupt(f"event {done + 1} is missing", seq=done + 1)
            last = arrivals.last_of([(row[0], row[1]) for row in rows], self.tuning)
            span = (arrival.session_no, source.session_no, done + 1, last)
            tx.run(COPY_EVENTS, *span)
            tx.run(COPY_IDENTITIES, *span)
            existing_head(tx, self.tenant, plan.source)  # one that is still there has not begun to move to the archive
            return last

        while done < plan.seq:
            done = await self.write(arrival.session_id, step, self.tuning.step_events)
            if progress is not None:
                progress(done, plan.seq)

    async def _arrived(self, plan: ForkPlan, source: Head, arrival: Arrival) -> Head:
        """The head of what was copied."""
        here = Head(arrival.session_no, plan.seq, b"")
        last = (await self.workers.read(lambda tx: read(tx, here, plan.seq - 1, None, 1)))[0]
        if plan.seq == source.seq and last.hash != source.hash:
            raise Corrupt(f"the session's head is not the hash of event {plan.seq}", seq=plan.seq)
        return here._replace(hash=last.hash)

    async def _show(self, plan: ForkPlan, source: Head, target: Head, arrival: Arrival, derived: Projection) -> Session:
        """Show the fork, routed, in one write together with whatever it takes from its source."""
        body = SessionForked(plan.source, plan.seq, target.hash.hex())
        event = self.own_event(body)
        keys: tuple[str, ...] = ()
        if plan.take_place:
            keys = await self.workers.read(lambda tx: keys_to(tx, self.tenant, plan.source))
        left = self.own_event(SessionReset(plan.session_id, list(keys), "restore"))
        begun = replace(derived, session=forked(derived.session, body), tasks={}, usage={})

        def write(tx: Tx) -> Session:
            if tx.rerun and arrivals.is_shown(tx, arrival):
                return get(tx, self.tenant, plan.session_id)
            arrivals.hold_on(tx, arrival, self.tuning)
            existing_head(tx, self.tenant, plan.source)
            if erased_since(tx, source):
                raise Conflict(f"events of session {plan.source!r} were erased meanwhile", hint="fork it again")
            if plan.key is not None:
                _check_free(tx, self.tenant, plan.key, plan.session_id)
            write_rows(tx, self.tenant, target.session_no, begun)
            arrivals.show(tx, arrival, target.seq, target.hash, event.created_at)
            append(tx, self.tenant, plan.session_id, [event])
            if plan.key is not None:
                route(tx, self.tenant, plan.key, target.session_no, event.created_at)
            if plan.take_place:
                supersede(tx, self.tenant, plan.source, left, keys, plan.session_id)
            return get(tx, self.tenant, plan.session_id)

        # The source's too: what is erased there is erased before the fork is shown, or found in it afterwards.
        locks = [self.lock(plan.session_id), self.lock(plan.source)]
        locks += [key_lock(self.tenant, key) for key in (*keys, *((plan.key,) if plan.key else ()))]
        return await self.workers.write(write, locks, self.tuning.step_events)


def _check_free(tx: Tx, tenant: str, key: str, session_id: str) -> None:
    """Conflict if the key routes to a session other than this one."""
    there = find(tx, tenant, key)
    if there is not None and there.session_id != session_id:
        raise Conflict(f"key {key!r} routes to {there.session_id!r} already", key=key)
