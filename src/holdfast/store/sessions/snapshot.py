"""A tenant's sessions at one moment: what `store.snapshot` shows to whoever reads several things that must agree.

All of it is read in one transaction, so it is only good while the function that was given it runs.
"""

from dataclasses import dataclass

from holdfast.core import Event, Goal, Session, SessionPage, State, SubAgent
from holdfast.store.engine import Tx
from holdfast.store.log.reading import STRETCH_BYTES, Head, Stretch, existing_head, head_of, read, stretch
from holdfast.store.log.rows import AGENTS, GOALS
from holdfast.store.sessions.agents import as_agent
from holdfast.store.sessions.goals import as_goal
from holdfast.store.sessions.sessions import MAX_PAGE, Filter, get, page
from holdfast.store.sessions.state_document import StateDocument, stored_state
from holdfast.store.sessions.usage import UsageRow, used_by_day

BY_STATUS = """
    SELECT status, count(*), CAST(sum(head_seq) AS BIGINT), CAST(sum(size_bytes) AS BIGINT)
    FROM sessions WHERE tenant = ?1 AND life = 'live' GROUP BY status ORDER BY status"""
BY_DAY = """
    SELECT created_at / 86400000, count(*) FROM sessions
    WHERE tenant = ?1 AND life = 'live' AND created_at >= ?2 * 86400000
    GROUP BY created_at / 86400000 ORDER BY created_at / 86400000"""


@dataclass(frozen=True, slots=True)
class SessionTotals:
    """How many sessions there are, by status, and what they hold."""

    by_status: dict[str, int]
    events: int
    size_bytes: int

    @property
    def sessions(self) -> int:
        """All of them."""
        return sum(self.by_status.values())


@dataclass(frozen=True, slots=True)
class StoreSnapshot:
    """All sessions of a tenant."""

    _tx: Tx
    tenant: str

    def session(self, session_id: str) -> "SessionSnapshot":
        """One session; NotFound, SessionGone or SessionArriving if it is not there."""
        return SessionSnapshot(self._tx, self.tenant, session_id, existing_head(self._tx, self.tenant, session_id))

    def find_session(self, session_id: str) -> "SessionSnapshot | None":
        """The same, or None if there never was such a session."""
        head = head_of(self._tx, self.tenant, session_id)
        return None if head is None else SessionSnapshot(self._tx, self.tenant, session_id, head)

    def newest_sessions(self, limit: int = MAX_PAGE) -> SessionPage:
        """The first page of the list of sessions, newest first."""
        return page(self._tx, self.tenant, Filter(), limit=limit)

    def totals(self) -> SessionTotals:
        """How many sessions there are, and what they hold."""
        rows = self._tx.all(BY_STATUS, self.tenant)
        by_status = {status: sessions for status, sessions, _, _ in rows}
        return SessionTotals(by_status, sum(row[2] for row in rows), sum(row[3] for row in rows))

    def begun_by_day(self, first_day: int) -> dict[int, int]:
        """How many sessions began on each day since 1970, from a day on; days without any are left out."""
        return dict(self._tx.all(BY_DAY, self.tenant, first_day))

    def usage_by_day(self) -> list[UsageRow]:
        """The tokens of all sessions by day and model."""
        return used_by_day(self._tx, self.tenant)


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """One session."""

    _tx: Tx
    tenant: str
    session_id: str
    _head: Head

    @property
    def head_seq(self) -> int:
        """The seq of its newest event."""
        return self._head.seq

    def description(self) -> Session:
        """Its row."""
        return get(self._tx, self.tenant, self.session_id)

    def state(self) -> State:
        """Its working document."""
        return self.document().parse(self.session_id)

    def document(self) -> StateDocument:
        """Its working document in bytes, as it is stored."""
        return stored_state(self._tx, self._head)

    def goals(self) -> tuple[list[Goal], int]:
        """Its newest goals that fit a page, and how many older ones are left out."""
        found, omitted = GOALS.newest(self._tx, self._head.session_no)
        return [as_goal(name, child) for name, child in found.items()], omitted

    def agents(self) -> tuple[list[SubAgent], int]:
        """Its newest sub-agents that fit a page, and how many older ones are left out."""
        found, omitted = AGENTS.newest(self._tx, self._head.session_no)
        return [as_agent(name, child) for name, child in found.items()], omitted

    def newest(self, before: int, limit: int, most_bytes: int = STRETCH_BYTES) -> Stretch:
        """The newest events before a seq: as many as fit, and at least one if there is any; Corrupt if one is bad."""
        return stretch(self._tx, self._head, 0, before, limit, newest=True, most_bytes=most_bytes)

    def event(self, seq: int) -> Event:
        """One event that the log has; Corrupt if it is not what was written."""
        return read(self._tx, self._head, seq - 1, seq + 1, 1)[0]
