"""A session's children on the wire: goals, sub-agents, checkpoints, snapshots and tool effects."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct

from holdfast import core
from holdfast.core import statuses, strict_json
from holdfast.core.clock import to_iso
from holdfast.core.statuses import GoalPriority, GoalStatus
from holdfast.gateway.wire.types import Body, Name, OwnName, Seq, Time, Timestamp


class GoalView(Struct, rename="camel", omit_defaults=True):
    """What a session is to reach."""

    goal_id: str
    description: str
    status: str
    priority: str
    created_at: Time
    completed_at: Time | None = None


class NewGoal(Body):
    """A goal to add; without an id it is named `goal-001` and so on. `id` is taken for `goalId`."""

    description: str
    goal_id: Name | None = None
    id: Name | None = None
    status: GoalStatus = statuses.PENDING
    priority: GoalPriority = statuses.MEDIUM
    created_at: Timestamp = None
    completed_at: Timestamp = None
    idempotency_key: OwnName | None = None


class GoalChange(Body):
    """What is to be changed of a goal; `goalId`, or `id`, may say again which one."""

    goal_id: Name | None = None
    id: Name | None = None
    status: GoalStatus | None = None
    description: str | None = None
    priority: GoalPriority | None = None
    completed_at: Timestamp = None
    idempotency_key: OwnName | None = None


class SubAgentView(Struct, rename="camel", omit_defaults=True):
    """An agent at work for a session."""

    agent_id: str
    type: str
    task: Raw
    status: str
    spawned_at: Time
    completed_at: Time | None = None
    result: Raw | None = None


class NewAgent(Body):
    """A sub-agent that was spawned; without an id it gets one. `id` is taken for `agentId`."""

    type: Name
    agent_id: Name | None = None
    id: Name | None = None
    task: Any = None
    status: Literal["active"] = statuses.ACTIVE
    spawned_at: Timestamp = None
    idempotency_key: OwnName | None = None


class AgentEnd(Body):
    """How a sub-agent ended; `agentId`, or `id`, may say again which one."""

    agent_id: Name | None = None
    id: Name | None = None
    status: statuses.AgentEnd = statuses.COMPLETED
    result: Any = None
    completed_at: Timestamp = None
    idempotency_key: OwnName | None = None


class GoalInPatch(Body):
    """A goal in a patch of the state: added if there is none with its id, else changed to what is given.

    `id` is taken for `goalId`. Times are those of a goal that is new, or that ends with this patch.
    """

    goal_id: Name | None = None
    id: Name | None = None
    description: str | None = None
    status: GoalStatus | None = None
    priority: GoalPriority | None = None
    created_at: Timestamp = None
    completed_at: Timestamp = None


class AgentInPatch(Body):
    """A sub-agent in a patch of the state: spawned if there is none with its id, ended if its status says so.

    `id` is taken for `agentId`. Times are those of a sub-agent that is new, or that ends with this patch.
    """

    agent_id: Name | None = None
    id: Name | None = None
    type: Name | None = None
    task: Any = UNSET
    status: statuses.AgentStatus | None = None
    spawned_at: Timestamp = None
    completed_at: Timestamp = None
    result: Any = UNSET


class CheckpointView(Struct, rename="camel"):
    """A point in the log to branch from or restore to."""

    checkpoint_id: str
    name: str
    seq: Seq
    reason: str
    created_at: Time


class CheckpointList(Struct):
    """A session's checkpoints, oldest first."""

    checkpoints: list[CheckpointView]


class NewCheckpoint(Body):
    """A checkpoint to make: at a seq, or where the log ends now."""

    name: str = ""
    seq: Seq | None = None
    checkpoint_id: Name | None = None
    idempotency_key: OwnName | None = None


class Compaction(Body):
    """A summary, and the events that it is to stand for: up to the end of the log if no `lastSeq` is given.

    Without a summary, one is made as the agent's is.
    """

    summary: Any = None
    last_seq: Seq | None = None
    first_seq: Seq = 1
    name: str = ""
    expected_seq: Seq | None = None
    idempotency_key: OwnName | None = None


class SnapshotView(Struct, rename="camel"):
    """What stands for the events from `firstSeq` to `lastSeq`."""

    seq: Seq
    first_seq: Seq
    last_seq: Seq
    kind: str
    document: Raw
    created_at: Time


class EffectView(Struct, rename="camel", omit_defaults=True):
    """One call of a tool that changes something outside."""

    call_id: str
    tool: str
    digest: str
    status: str
    started_at: Time
    finished_at: Time | None = None
    result: Raw | None = None


def goal(found: core.Goal) -> GoalView:
    """The goal as clients see it."""
    created_at, completed_at = to_iso(found.created_at), when(found.completed_at)
    return GoalView(found.goal_id, found.description, found.status, found.priority, created_at, completed_at)


def agent(found: core.SubAgent) -> SubAgentView:
    """The sub-agent as clients see it."""
    ended = (when(found.completed_at), value(found.result) if found.completed_at is not None else None)
    return SubAgentView(found.agent_id, found.type, value(found.task), found.status, to_iso(found.spawned_at), *ended)


def checkpoint(found: core.Checkpoint) -> CheckpointView:
    """The checkpoint as clients see it."""
    return CheckpointView(found.checkpoint_id, found.name, found.seq, found.reason, to_iso(found.created_at))


def snapshot(found: core.Snapshot) -> SnapshotView:
    """The snapshot as clients see it."""
    span = (found.seq, found.first_seq, found.last_seq)
    return SnapshotView(*span, found.kind, value(found.document), to_iso(found.created_at))


def effect(found: core.Effect) -> EffectView:
    """The effect as clients see it."""
    ended = (when(found.finished_at), value(found.result) if found.finished_at is not None else None)
    return EffectView(found.call_id, found.tool, found.digest, found.status, to_iso(found.started_at), *ended)


def value(found: Any) -> Raw:
    """A stored JSON value as part of an answer, whatever numbers are in it."""
    return msgspec.Raw(strict_json.encode(found))


def when(ms: int | None) -> str | None:
    """A time as clients see it, if there is one."""
    return None if ms is None else to_iso(ms)
