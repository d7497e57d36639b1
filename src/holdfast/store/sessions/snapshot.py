"""A tenant's sessions at one moment: what `store.snapshot` shows to whoever reads several things that must agree.

All of it is read in one transaction, so it is only good while the function that was given it runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.core import Event, Goal, Session, SessionPage, State, SubAgent, TaskState
from holdfast.core.errors import Corrupt
from holdfast.store.attachments.attachments import StoredAttachment, used
from holdfast.store.engine import Tx
from holdfast.store.log.event_days import events_by_day
from holdfast.store.log.log_reader import STRETCH_BYTES, Head, Stretch, chosen, existing_head, head_of, read, stretch
from holdfast.store.log.places import EventGlance, EventPlace, IndexedType, glances, places
from holdfast.store.log.rows import AGENTS, GOALS
from holdfast.store.sessions.agents import as_agent
from holdfast.store.sessions.family import Family, family
from holdfast.store.sessions.goals import as_goal
from holdfast.store.sessions.open_work import OpenWork, open_work
from holdfast.store.sessions.sessions import MAX_PAGE, Filter, check_filter, find, get, page, place_of
from holdfast.store.sessions.state_document import StateDocument, stored_state
from holdfast.store.sessions.summaries import SessionSummary, summaries
from holdfast.store.sessions.usage import UsageRow, used_by_day
from holdfast.store.tasks import task_pages
from holdfast.store.tasks.task_pages import KeyedTask, KeyedTasks
from holdfast.store.tasks.tasks import get as get_task

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
        """How many there are in all."""
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

    def sessions(self, chosen: Filter, *, cursor: str | None = None, limit: int = MAX_PAGE) -> SessionPage:
        """One page of the sessions that fit, newest first."""
        return page(self._tx, self.tenant, check_filter(chosen), place_of(cursor), limit)

    def listed_session(self, session_id: str) -> Session | None:
        """The session as a list shows it; None if it is not there, or no more."""
        return find(self._tx, self.tenant, session_id)

    def summaries(self, session_ids: Sequence[str]) -> dict[str, SessionSummary]:
        """What a list says of these sessions beside their rows, by their ids; nothing of one that is not there."""
        return summaries(self._tx, self.tenant, session_ids)

    def tasks(
        self,
        *,
        state: TaskState | None = None,
        session_id: str | None = None,
        cursor: str | None = None,
        limit: int = MAX_PAGE,
    ) -> KeyedTasks:
        """One page of the tasks that fit, of all agents, the last changed first."""
        return task_pages.page(self._tx, self.tenant, state=state, session_id=session_id, cursor=cursor, limit=limit)

    def task(self, task_id: str) -> KeyedTask:
        """One task; NotFound if there is none."""
        task = get_task(self._tx, self.tenant, task_id)
        return KeyedTask(task, task_pages.key_of(self._tx, self.tenant, task_id))

    def totals(self) -> SessionTotals:
        """How many sessions there are, and what they hold."""
        rows = self._tx.all(BY_STATUS, self.tenant)
        by_status = {status: sessions for status, sessions, _, _ in rows}
        return SessionTotals(by_status, sum(row[2] for row in rows), sum(row[3] for row in rows))

    def begun_by_day(self, first_day: int) -> dict[int, int]:
        """How many sessions began on each day since 1970, from a day on; days without any are left out."""
        return dict(self._tx.all(BY_DAY, self.tenant, first_day))

    def usage_by_day(self, first_day: int = 0) -> list[UsageRow]:
        """The tokens of all sessions by day and model, from a day on."""
        return used_by_day(self._tx, self.tenant, first_day)

    def events_by_day(self, first_day: int) -> dict[int, int]:
        """How many events there were on each day since 1970, from a day on, as far as they are counted by now."""
        return events_by_day(self._tx, self.tenant, first_day)

    def open_work(self) -> OpenWork:
        """What waits for somebody."""
        return open_work(self._tx, self.tenant)


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """One session, at the same moment as the others."""

    _tx: Tx
    tenant: str
    session_id: str
    _head: Head

    @property
    def head_seq(self) -> int:
        """The seq of its newest event."""
        return self._head.seq

    def description(self) -> Session:
        """What is said of it: agent, user, status, metadata and the rest."""
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

    def family(self) -> Family:
        """The sessions that name it as their parent, and theirs in turn."""
        return family(self._tx, self.tenant, self.session_id, self._head)

    def newest(self, before: int, limit: int, most_bytes: int = STRETCH_BYTES) -> Stretch:
        """The newest events before a seq: as many as fit, and at least one if there is any; Corrupt if one is bad."""
        return stretch(self._tx, self._head, 0, before, limit, newest=True, most_bytes=most_bytes)

    def places(
        self, after: int, before: int, limit: int, types: Sequence[str] | None = None, *, newest: bool = False
    ) -> list[EventPlace]:
        """Where the first events between two seqs are, or with `newest` the last: of all types, or only of these."""
        return places(self._tx, self._head, after, before, limit, types, newest=newest)

    def glances(
        self,
        type: IndexedType,
        after: int,
        before: int,
        limit: int,
        *,
        newest: bool = False,
        most_bytes: int = STRETCH_BYTES,
    ) -> list[EventGlance]:
        """The first events of a type between two seqs that fit, or with `newest` the last, without what is between."""
        return glances(self._tx, self._head, type, after, before, limit, most_bytes, newest=newest)

    def uses(self, digest: str) -> StoredAttachment | None:
        """The attachment of this digest, if an event of the session names it."""
        return used(self._tx, self.tenant, self._head.session_no, digest)

    def events(self, seqs: Sequence[int]) -> tuple[list[Event], dict[int, Corrupt]]:
        """The events at these seqs, which rise, that are what was written, and what is wrong with the others."""
        return chosen(self._tx, self._head, seqs)

    def between(self, after: int, before: int) -> list[Event]:
        """The events between two seqs, however large; Corrupt if one is not what was written."""
        return read(self._tx, self._head, after, before, max(before - after - 1, 0))

    def event(self, seq: int) -> Event:
        """One event that the log has; Corrupt if it is not what was written."""
        return read(self._tx, self._head, seq - 1, seq + 1, 1)[0]
