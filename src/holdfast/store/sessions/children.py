"""Goals and sub-agents that come with a patch of the state: set or changed in the patch's own transaction.

They are upserted by their ids through the same events as one by one, so there is never a second list of them. One that
is as it should be already gives no event. The times that a new one names are those of its events.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from holdfast.core import strict_json
from holdfast.core.errors import Conflict, InvalidInput, TooLarge
from holdfast.core.event_bodies import AgentCompleted, AgentSpawned, EventBody, GoalAdded, GoalChanges, GoalUpdated
from holdfast.core.ids import check_name
from holdfast.core.statuses import ACTIVE, AGENT_ENDS, ENDED_GOALS, MEDIUM, PENDING
from holdfast.store.engine import Tx
from holdfast.store.log.prepare import PreparedEvent, at_time, check_most
from holdfast.store.log.projection import (
    Child,
    Children,
    changed_goal,
    completed_agent,
    new_agent,
    new_goal,
)
from holdfast.store.log.rows import AGENTS, GOALS, ChildTable
from holdfast.store.sessions.agents import MAX_REPORT, same_members
from holdfast.store.sessions.goals import NAME_TRIES, check_goal

MAX_CHILDREN = 1_000
"""Goals and sub-agents of one patch."""

OwnEvent = Callable[[EventBody], PreparedEvent]
"""Makes one of Holdfast's own events."""


@dataclass(frozen=True, slots=True)
class GoalPatch:
    """What is said of a goal; one without an id is new, and named `goal-001` and so on."""

    goal_id: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    """Of its description, status and priority, those that are given."""
    created_at: int | None = None
    completed_at: int | None = None


@dataclass(frozen=True, slots=True)
class AgentPatch:
    """What is said of a sub-agent; one without an id is new."""

    agent_id: str | None = None
    given: dict[str, Any] = field(default_factory=dict)
    """Of its type, task, status and result, those that are given."""
    spawned_at: int | None = None
    completed_at: int | None = None


@dataclass(frozen=True, slots=True)
class ChildrenPatch:
    """The goals and sub-agents of one patch; `digest` tells two bodies under one idempotency key apart."""

    goals: Sequence[GoalPatch]
    agents: Sequence[AgentPatch]
    digest: str

    def check(self) -> None:
        """InvalidInput or TooLarge if what is said of them could never be kept."""
        if self.size > MAX_CHILDREN:
            raise TooLarge(f"{self.size} goals and sub-agents in one patch", limit=MAX_CHILDREN)
        for goal in self.goals:
            check_goal(goal.changes)
        for agent in self.agents:
            for member in ("task", "result"):
                check_most(agent.given.get(member), MAX_REPORT, f"a sub-agent's {member}")

    @property
    def size(self) -> int:
        """How many goals and sub-agents there are."""
        return len(self.goals) + len(self.agents)


def digest_of(given: Any) -> str:
    """The digest of what a body says of goals and sub-agents."""
    return hashlib.sha256(strict_json.canonical(given)).hexdigest()


@dataclass(slots=True)
class Upsert:
    """The events of a patch's children, and the rows that they lead to."""

    events: list[PreparedEvent] = field(default_factory=list)
    goals: Children = field(default_factory=dict)
    agents: Children = field(default_factory=dict)

    def put(self, tx: Tx, session_no: int) -> None:
        """Keep the rows."""
        GOALS.put(tx, session_no, self.goals)
        AGENTS.put(tx, session_no, self.agents)


def upsert(patch: ChildrenPatch, own_event: OwnEvent, ids: Callable[[], str], session: "SessionRows | None") -> Upsert:
    """What the patch makes of the goals and sub-agents of a session, or of a new one; InvalidInput, Conflict or
    TooLarge."""
    done = Upsert()
    goals = _Kind(session, GOALS, done.goals, ids)
    agents = _Kind(session, AGENTS, done.agents, ids)

    def say(body: EventBody, at: int | None) -> int:
        done.events.append(at_time(own_event(body), at))
        return done.events[-1].created_at

    for goal in patch.goals:
        _upsert_goal(goals, goal, say)
    for agent in patch.agents:
        _upsert_agent(agents, agent, say)
    return done


Say = Callable[[EventBody, int | None], int]


@dataclass(frozen=True, slots=True)
class SessionRows:
    """The rows of a session that is there."""

    tx: Tx
    session_no: int


@dataclass(slots=True)
class _Kind:
    """The children of one kind as the patch has left them so far."""

    session: SessionRows | None
    table: ChildTable
    changed: Children
    ids: Callable[[], str]
    next: int = 0
    tries: int = NAME_TRIES
    """Of names that may be taken, for all that have none of their own."""

    def get(self, name: str) -> Child | None:
        if name in self.changed or self.session is None:
            return self.changed.get(name)
        return self.table.get(self.session.tx, self.session.session_no, name)

    def next_number(self) -> int:
        if not self.next:
            here = self.session
            self.next = 1 if here is None else self.table.next_number(here.tx, here.session_no)
        return self.next

    def number(self) -> int:
        self.next = self.next_number() + 1
        return self.next - 1

    def free_goal(self) -> str:
        number = self.next_number()
        while self.tries:
            if self.get(f"goal-{number:03}") is None:
                return f"goal-{number:03}"
            self.tries -= 1
            number += 1
        return f"goal-{self.ids()}"


def _upsert_goal(goals: _Kind, patch: GoalPatch, say: Say) -> None:
    name = goals.free_goal() if patch.goal_id is None else check_name(patch.goal_id, "a goal's id")
    given = cast(GoalChanges, dict(patch.changes))
    before = goals.get(name)
    if before is None:
        if "description" not in given:
            raise InvalidInput(f"goal {name!r} is new and has no description", goal_id=name)
        status = given.get("status", PENDING)
        ends_later = status in ENDED_GOALS and patch.completed_at not in (None, patch.created_at)
        first = PENDING if ends_later else status
        body = GoalAdded(name, given["description"], first, given.get("priority", MEDIUM))
        before = new_goal(goals.number(), body, say(body, patch.created_at))
        given = {"status": status} if ends_later else {}
    now = {**before.document, "status": before.status}
    changes = cast(GoalChanges, {member: value for member, value in given.items() if now[member] != value})
    if changes:
        at = patch.completed_at if changes.get("status") in ENDED_GOALS else None
        change = GoalUpdated(name, changes)
        before = changed_goal(before, change, say(change, at))
    goals.changed[name] = before


def _upsert_agent(agents: _Kind, patch: AgentPatch, say: Say) -> None:
    name = agents.ids() if patch.agent_id is None else check_name(patch.agent_id, "a sub-agent's id")
    given = strict_json.plain(patch.given)
    before = agents.get(name)
    if before is None:
        if "type" not in given:
            raise InvalidInput(f"sub-agent {name!r} is new and has no type", agent_id=name)
        body = AgentSpawned(name, check_name(given["type"], "a sub-agent's type"), given.get("task"))
        before = new_agent(agents.number(), body, say(body, patch.spawned_at))
    elif not same_members(before, **_some(given, "type", "task")):
        raise Conflict(f"there is a sub-agent {name!r} already, and it is another one", agent_id=name)
    status = given.get("status", before.status)
    if before.status == ACTIVE and status in AGENT_ENDS:
        end = AgentCompleted(name, status, given.get("result"))
        before = completed_agent(before, end, say(end, patch.completed_at))
    elif before.status != status or not same_members(before, **_some(given, "result")):
        raise Conflict(f"sub-agent {name!r} is {before.status}, with another end", agent_id=name, status=before.status)
    agents.changed[name] = before


def _some(given: dict[str, Any], *names: str) -> dict[str, Any]:
    """Those of these members that are given."""
    return {name: given[name] for name in names if name in given}
