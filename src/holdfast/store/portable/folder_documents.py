"""What the documents of a session's folder say, whoever wrote them: `metadata.json`, `state.json`, `final.json`.

Nothing of them is dropped. Members of `metadata.json` that are not a session's own become members of its metadata
(`model`, `tokenUsage`, `metrics`); those of a goal or a sub-agent that we do not know are refused by name.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from holdfast.core.errors import InvalidInput
from holdfast.core.event_bodies import SessionCreated, SessionForked
from holdfast.core.ids import check_name
from holdfast.core.statuses import ACTIVE, SESSION_STATUSES, AgentStatus, one_of
from holdfast.store.log.projection import DEFAULT_AGENT
from holdfast.store.portable.files_layout import moment
from holdfast.store.sessions.children import AgentPatch, GoalPatch

ROW = frozenset(
    {
        "sessionId",
        "agent",
        "userId",
        "status",
        "createdAt",
        "updatedAt",
        "headSeq",
        "headHash",
        "tags",
        "parentSession",
        "lineage",
        "metadata",
        "exported",
    }
)
"""The members of `metadata.json` that are not the session's own metadata."""


@dataclass(frozen=True, slots=True)
class Description:
    """What `metadata.json` and `initial.json` say."""

    body: SessionCreated
    """Of the event that describes the session; with no member if there is nothing to say."""
    status: str
    created_at: int | None
    updated_at: int | None
    head_seq: int
    lineage: dict[str, Any]


class GoalLine(Struct, rename="camel", forbid_unknown_fields=True):
    """A goal of `state.json`."""

    goal_id: str | None = None
    id: str | None = None
    description: str | None = None
    status: str | None = None
    priority: str | None = None
    created_at: str | int | float | None = None
    completed_at: str | int | float | None = None


class AgentLine(Struct, rename="camel", forbid_unknown_fields=True):
    """A sub-agent of `state.json`."""

    agent_id: str | None = None
    id: str | None = None
    type: str | None = None
    task: Any = UNSET
    status: AgentStatus | None = None
    spawned_at: str | int | float | None = None
    completed_at: str | int | float | None = None
    result: Any = UNSET


class MetadataDocument(Struct, rename="camel"):
    """The members of `metadata.json` that have a meaning here."""

    agent: str | None = None
    user_id: str | None = None
    status: str | None = None
    created_at: str | int | float | None = None
    updated_at: str | int | float | None = None
    head_seq: int | None = None
    tags: list[str] | None = None
    parent_session: str | None = None
    lineage: dict[str, Any] | None = None
    metadata: dict[str, Any] | UnsetType | None = UNSET


def described(found: dict[str, Any], initial: Any) -> Description:
    """What the documents say of the session; InvalidInput."""
    row = _as(found, MetadataDocument)
    lineage = row.lineage or {}
    own = {name: value for name, value in found.items() if name not in ROW}
    own |= row.metadata if isinstance(row.metadata, dict) else {}
    status = one_of(SESSION_STATUSES, row.status or ACTIVE, f"a session has no status {row.status!r:.80}")
    body = {
        "agent": None if row.agent in (None, DEFAULT_AGENT) else check_name(str(row.agent), "an agent's name"),
        "user_id": None if row.user_id is None else check_name(row.user_id, "a user's id"),
        "initial": initial,
        "metadata": own,
        "tags": [check_name(tag, "a tag") for tag in row.tags or ()],
        "parent_session": row.parent_session or lineage.get("parentSession"),
        "previous_session": lineage.get("previousSession"),
    }
    times = (_time(row.created_at), _time(row.updated_at))
    given = SessionCreated(**{name: value for name, value in body.items() if value not in (None, {}, [])})
    return Description(given, status, *times, max(row.head_seq or 0, 0), lineage)


def fork_of(lineage: dict[str, Any]) -> SessionForked:
    """The body of the event that says where the session was forked."""
    origin = lineage["forkedFrom"]
    if not isinstance(origin, dict) or not isinstance(origin.get("seq"), int) or "sessionId" not in origin:
        raise InvalidInput("forkedFrom must have a sessionId and a seq")
    return SessionForked(check_name(origin["sessionId"], "a session id"), origin["seq"])


def ended(final: Any, status: str) -> dict[str, Any] | None:
    """The members of the event that ended the session, and when, as `at`; None if it did not end."""
    if final is None and status == ACTIVE:
        return None
    body: dict[str, Any] = {"status": status, "outcome": None, "response": None}
    body |= final if isinstance(final, dict) else {"outcome": final}
    one_of(SESSION_STATUSES, body["status"], f"a session cannot end as {body['status']!r:.80}")
    return body


def children_in(state: dict[str, Any]) -> tuple[list[GoalPatch], list[AgentPatch]]:
    """The goals and sub-agents of a state, which are taken out of it; InvalidInput."""
    goals = [_goal(_as(each, GoalLine)) for each in _list(state, "goals")]
    agents = [_agent(_as(each, AgentLine)) for each in _list(state, "agents")]
    return goals, agents


def _goal(line: GoalLine) -> GoalPatch:
    given = {"description": line.description, "status": line.status, "priority": line.priority}
    times = (_time(line.created_at), _time(line.completed_at))
    return GoalPatch(line.goal_id or line.id, {name: each for name, each in given.items() if each is not None}, *times)


def _agent(line: AgentLine) -> AgentPatch:
    given = {"type": line.type, "status": line.status}
    found = {name: each for name, each in given.items() if each is not None}
    found |= {name: each for name, each in (("task", line.task), ("result", line.result)) if each is not UNSET}
    return AgentPatch(line.agent_id or line.id, found, _time(line.spawned_at), _time(line.completed_at))


def _list(state: dict[str, Any], name: str) -> list[Any]:
    found = state.pop(name, None)
    if found is None:
        return []
    if not isinstance(found, list):
        raise InvalidInput(f"{name} must be a list")
    return found


def _as(value: Any, shape: Any) -> Any:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{error}") from None


def _time(given: str | float | None) -> int | None:
    return None if given is None else moment(given)
