"""Verification: derive a session again from its log and compare.

Checked, in this order: every seq from 1 to the head is there, every event's hash follows from the one before, the
head is the last event's, what was erased was erased by an event, the keys are those that were written, and the rows
beside the log are what the events say.
Strictly read-only. The first thing that is wrong is named; head hashes are reported, to be kept elsewhere.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple

from holdfast.core.chain import GENESIS
from holdfast.core.errors import Corrupt, HoldfastError, InvalidJson, NotFound, SessionGone
from holdfast.core.ids import check_session_id
from holdfast.store.engine import Engine, Row, Tx
from holdfast.store.log.derive import derive
from holdfast.store.log.log_check import LogCheck
from holdfast.store.log.log_reader import Head, existing_head
from holdfast.store.log.projection import Projection
from holdfast.store.log.rows import read_part, tags_of
from holdfast.store.part import Part
from holdfast.store.sessions.state_points import check_points

LAST = "SELECT coalesce(max(seq), 0) FROM transcript_events WHERE session_no = ?1"
HASH_AT = "SELECT hash FROM transcript_events WHERE session_no = ?1 AND seq = ?2"
MOST_STRAYS = 20
LAST_IDENTITY = """
    SELECT event_id, session_no FROM (
      SELECT event_id, session_no FROM transcript_event_identities
      WHERE (event_id, session_no) > (?1, ?2) ORDER BY event_id, session_no LIMIT ?3) page
    ORDER BY event_id DESC, session_no DESC LIMIT 1"""
STRAY_IDENTITIES = """
    SELECT s.tenant, s.session_id, i.seq FROM transcript_event_identities i
    JOIN sessions s ON s.session_no = i.session_no
    LEFT JOIN transcript_events e ON e.session_no = i.session_no AND e.seq = i.seq AND e.event_id = i.event_id
    WHERE (i.event_id, i.session_no) > (?1, ?2) AND (i.event_id, i.session_no) <= (?3, ?4) AND e.seq IS NULL LIMIT ?5"""
SESSIONS = """
    SELECT session_id, session_no FROM sessions
    WHERE tenant = ?1 AND session_no > ?2 AND life = 'live' ORDER BY session_no LIMIT 500"""
ANOTHER_TENANTS = """
    SELECT what FROM (
      SELECT 'tags' AS what, session_no, tenant FROM session_tags WHERE session_no = ?1 UNION ALL
      SELECT 'tasks', session_no, tenant FROM tasks WHERE session_no = ?1 UNION ALL
      SELECT 'attachments', session_no, tenant FROM attachment_uses WHERE session_no = ?1) beside
    WHERE tenant <> ?2 LIMIT 1"""
NUMBER_OF = "SELECT session_no FROM sessions WHERE tenant = ?1 AND session_id = ?2"
TENANTS = "SELECT DISTINCT tenant FROM sessions ORDER BY tenant"


NAMES = {
    "session": "row",
    "size_bytes": "size",
    "tasks": "list of tasks",
    "goals": "list of goals",
    "agents": "list of sub-agents",
    "checkpoints": "list of checkpoints",
    "effects": "list of tool effects",
    "snapshots": "list of snapshots",
    "attachments": "list of attachments",
}


@dataclass(frozen=True, slots=True)
class SessionVerdict:
    """What verification found of one session; `problem` is None when everything holds."""

    session_id: str
    events: int
    head_hash: str
    problem: str | None = None
    bad_seq: int | None = None


class Stray(NamedTuple):
    """An identity without an event."""

    tenant: str
    session_id: str
    seq: int

    @property
    def problem(self) -> str:
        """What is wrong with the session."""
        return f"has an identity for event {self.seq}, which is not there"


@dataclass(frozen=True, slots=True)
class Verification(Part):
    """`store.verification`."""

    engine: Engine

    async def session(self, session_id: str) -> SessionVerdict:
        """Verify one session; NotFound if there is none."""
        check_session_id(session_id)
        head = await self.workers.read(lambda tx: existing_head(tx, self.tenant, session_id))
        projection, log, done = Projection(), LogCheck(), 0
        try:
            while True:
                log.begin(head)
                await derive(self.workers, head, into=projection, after=done, seen=log.see)
                done = head.seq
                now = await self.workers.read(
                    lambda tx, head=head: self._compare(tx, session_id, head, projection, log)  # type: ignore[misc]
                )
                if now == head:
                    await check_points(self.workers, head)
                    return SessionVerdict(session_id, head.seq, head.hash.hex())
                head = now
        except Corrupt as error:
            return SessionVerdict(session_id, head.seq, head.hash.hex(), error.message, error.details.get("seq"))

    async def sessions(self, after: str | None = None) -> list[str]:
        """The ids of the next sessions to verify, oldest first; empty at the end."""

        def run(tx: Tx) -> list[str]:
            start = 0
            if after is not None:
                row = tx.one(NUMBER_OF, self.tenant, after)
                if row is None:
                    raise NotFound(f"there is no session {after!r}", session_id=after)
                start = row[0]
            return [row[0] for row in tx.all(SESSIONS, self.tenant, start)]

        return await self.workers.read(run)

    async def every(self) -> AsyncIterator[SessionVerdict]:
        """Verify the tenant's sessions, oldest first, also those that cannot even be read; not those deleted since."""
        after = 0
        while page := await self.workers.read(lambda tx, after=after: tx.all(SESSIONS, self.tenant, after)):  # type: ignore[misc]
            after = page[-1][1]
            for session_id, _ in page:
                try:
                    yield await self.session(session_id)
                except Corrupt as error:
                    yield SessionVerdict(session_id, 0, "", error.message)
                except (NotFound, SessionGone):
                    continue

    async def tenants(self) -> list[str]:
        """Every tenant that has or had a session."""
        return [row[0] for row in await self.workers.read(lambda tx: tx.all(TENANTS))]

    async def files(self) -> list[str]:
        """What is wrong with the database as a whole: what its engine finds, and identities without an event."""
        try:
            found = await asyncio.to_thread(self.engine.check)
            strays = await self.strays()
        except HoldfastError as error:
            return [error.message]
        return found + [f"session {stray.session_id} {stray.problem}" for stray in strays]

    async def strays(self) -> list[Stray]:
        """Identities without an event, some of them; a page at a time, since no read may take long."""
        found: list[Stray] = []
        after: Row = ("", 0)

        def page(tx: Tx) -> tuple[Row | None, list[Stray]]:
            last = tx.one(LAST_IDENTITY, *after, self.tuning.identities_page)
            rows = [] if last is None else tx.all(STRAY_IDENTITIES, *after, *last, MOST_STRAYS)
            return last, [Stray._make(row) for row in rows]

        while len(found) < MOST_STRAYS:
            last, strays = await self.workers.read(page)
            if last is None:
                break
            found += strays
            after = last
        return found

    def _compare(self, tx: Tx, session_id: str, head: Head, derived: Projection, log: LogCheck) -> Head:
        """Compare the rows with what the events say; the head as it is now, and no more if that has moved on."""
        now = existing_head(tx, self.tenant, session_id)
        if now.seq > head.seq:
            return now
        last = tx.one(HASH_AT, head.session_no, head.seq)
        if (last[0] if last else GENESIS) != head.hash:
            raise Corrupt(f"the session's head is not the hash of event {head.seq}", seq=head.seq)
        if tx.one(LAST, head.session_no) != (head.seq,):
            raise Corrupt(f"there are events after the log's end at {head.seq}", seq=head.seq + 1)
        log.check(tx, head)
        for part in fields(Projection):
            name = NAMES.get(part.name, part.name)
            try:
                rows = read_part(tx, head.session_no, part.name)
            except (InvalidJson, ValueError) as error:
                raise Corrupt(f"the session's {name} cannot be read: {error}") from None
            if not _alike(rows, getattr(derived, part.name)):
                raise Corrupt(f"the session's {name} is not what its events say")
        if tags_of(tx, head.session_no) != set(derived.session.document.get("tags", ())):
            raise Corrupt("the session's tags are not what its events say")
        stray = tx.one(ANOTHER_TENANTS, head.session_no, self.tenant)
        if stray is not None:
            raise Corrupt(f"some of the session's {stray[0]} are another tenant's")
        return now


def _alike(one: Any, other: Any) -> bool:
    """Whether two values are equal all the way down as JSON has it, where 1, 1.0 and true differ."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if is_dataclass(one):
        return all(_alike(getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    return bool(one == other)
