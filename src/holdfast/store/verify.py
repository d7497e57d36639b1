"""Verification: derive a session again from its log and compare.

Checked, in this order: every seq from 1 to the head is there, every event's hash follows from the one before, the
head is the last event's, and the rows beside the log are what the events say.
Strictly read-only. The first thing that is wrong is named; head hashes are reported, to be kept elsewhere.
"""

import asyncio
from dataclasses import dataclass

from holdfast.core import TaskState, strict_json
from holdfast.core.chain import GENESIS
from holdfast.core.errors import Corrupt, HoldfastError
from holdfast.core.ids import check_session_id
from holdfast.store.engine import Engine, Tx
from holdfast.store.part import Part
from holdfast.store.projection import Projection, SessionFacts, StateFacts, TaskFacts, fold
from holdfast.store.reading import PAGE, Head, existing_head, read

COUNT = "SELECT count(*) FROM transcript_events WHERE session_no = ?1"
STRAY_IDENTITIES = """
    SELECT s.session_id, i.seq FROM transcript_event_identities i
    JOIN sessions s ON s.session_no = i.session_no
    LEFT JOIN transcript_events e ON e.session_no = i.session_no AND e.seq = i.seq AND e.event_id = i.event_id
    WHERE s.tenant = ?1 AND e.seq IS NULL LIMIT 20"""
SESSION = "SELECT agent, user_id, status, document FROM sessions WHERE session_no = ?1"
STATE = "SELECT version, document FROM session_state WHERE session_no = ?1"
TASKS = "SELECT task_id, context_id, state, document, version FROM tasks WHERE session_no = ?1"
ALL_SESSIONS = "SELECT session_id FROM sessions WHERE tenant = ?1 AND session_no > ?2 ORDER BY session_no LIMIT 500"
NUMBER_OF = "SELECT session_no FROM sessions WHERE tenant = ?1 AND session_id = ?2"


@dataclass(frozen=True, slots=True)
class Verified:
    """What verification found of one session; `problem` is None when everything holds."""

    session_id: str
    events: int
    head_hash: str
    problem: str | None = None
    bad_seq: int | None = None


@dataclass(frozen=True, slots=True)
class Verification(Part):
    """`store.verification`."""

    engine: Engine

    async def session(self, session_id: str) -> Verified:
        """Verify one session; NotFound if there is none."""
        check_session_id(session_id)
        head = await self.workers.read(lambda tx: existing_head(tx, self.tenant, session_id))
        after, projection, prev = 0, Projection(), GENESIS
        try:
            while True:
                while after < head.seq:
                    page = await self.workers.read(
                        lambda tx, head=head, after=after: read(tx, head, after, None, PAGE)  # type: ignore[misc]
                    )
                    for event in page:
                        projection = fold(projection, event)
                    after, prev = page[-1].seq, page[-1].hash
                if prev != head.hash:
                    raise Corrupt(f"the session's head is not the hash of event {head.seq}", seq=head.seq)
                now = await self.workers.read(
                    lambda tx, head=head, derived=projection: self._compare(tx, session_id, head, derived)  # type: ignore[misc]
                )
                if now == head:
                    return Verified(session_id, head.seq, head.hash.hex())
                head = now
        except Corrupt as error:
            return Verified(session_id, head.seq, head.hash.hex(), error.message, error.details.get("seq"))

    async def sessions(self, after: str | None = None) -> list[str]:
        """The ids of the next sessions to verify, oldest first; empty at the end."""

        def run(tx: Tx) -> list[str]:
            start = 0
            if after is not None:
                row = tx.one(NUMBER_OF, self.tenant, after)
                start = row[0] if row else 2**62
            return [row[0] for row in tx.all(ALL_SESSIONS, self.tenant, start)]

        return await self.workers.read(run)

    async def files(self) -> list[str]:
        """What is wrong with the database as a whole: what its engine finds, and identities without an event."""
        try:
            found = await asyncio.to_thread(self.engine.check)
            rows = await self.workers.read(lambda tx: tx.all(STRAY_IDENTITIES, self.tenant))
        except HoldfastError as error:
            return [error.message]
        return found + [f"session {row[0]} has an identity for event {row[1]}, which is not there" for row in rows]

    def _compare(self, tx: Tx, session_id: str, head: Head, derived: Projection) -> Head:
        """Compare the rows with what the events say; the head as it is now, and no more if that has moved on."""
        now = existing_head(tx, self.tenant, session_id)
        if now.seq > head.seq:
            return now
        row = tx.one(COUNT, head.session_no)
        if row is None or row[0] != head.seq:
            raise Corrupt(f"there are {row[0] if row else 0} events for a log of {head.seq}", seq=head.seq)
        row = tx.one(SESSION, head.session_no)
        if row is None or SessionFacts(row[0], row[1], row[2], strict_json.parse(row[3])) != derived.session:
            raise Corrupt("the session's row is not what its events say")
        row = tx.one(STATE, head.session_no)
        if (StateFacts(row[0], strict_json.parse(row[1])) if row else StateFacts()) != derived.state:
            raise Corrupt("the session's state is not what its events say")
        rows = tx.all(TASKS, head.session_no)
        tasks = {row[0]: TaskFacts(row[1], TaskState(row[2]), strict_json.parse(row[3]), row[4]) for row in rows}
        if tasks != derived.tasks:
            raise Corrupt("the session's tasks are not what its events say")
        return now
