"""What the rows beside the log mean: folds over a session's events.

A write applies a fold to the row it read; `verify`, fork, import and erasure apply the same folds to the whole log.
So a row can always be derived again, and one that cannot is corrupt. An erased event says nothing any more: it
changes nothing but the count of the state's versions, and that a fork began.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import UNSET

from holdfast.core import Event, TaskState, Usage, statuses
from holdfast.core.event_bodies import (
    BODIES,
    AgentCompleted,
    AgentSpawned,
    AttachmentAdded,
    Body,
    CheckpointCreated,
    Compacted,
    GoalAdded,
    GoalUpdated,
    HoldChanged,
    MetadataUpdated,
    SessionCreated,
    SessionFinalized,
    SessionForked,
    SessionReset,
    SnapshotSaved,
    StateUpdated,
    TagsUpdated,
    TaskUpdated,
    ToolFinished,
    ToolStarted,
    UsageRecorded,
    other_members,
    read,
)

DEFAULT_AGENT = "main"
MAX_CHECKPOINTS = 25
DAY_MS = 86_400_000
NO_PATCH = StateUpdated({})
"""What an erased patch leaves: the count of versions goes on."""
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The part of a session's row that its events decide."""

    agent: str = DEFAULT_AGENT
    user_id: str | None = None
    status: str = statuses.ACTIVE
    held: bool = False
    document: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateFacts:
    """A session's working document and how often it was changed."""

    version: int = 0
    document: dict[str, Any] = field(default_factory=dict)
    updated_at: int = 0


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A task as its events left it."""

    context_id: str
    state: TaskState
    document: dict[str, Any]
    version: int
    created_at: int
    updated_at: int


class Child(NamedTuple):
    """A goal, sub-agent, checkpoint or tool effect: its place among its kind, its status, all that is known of it."""

    number: int
    status: str
    document: dict[str, Any]


Children = dict[str, Child]


class UsageDay(NamedTuple):
    """Which day (since 1970) and model an amount of usage belongs to."""

    day: int
    model: str


@dataclass(slots=True)
class Projection:
    """Everything that a session's events decide; grows event by event."""

    session: SessionFacts = field(default_factory=SessionFacts)
    state: StateFacts = field(default_factory=StateFacts)
    tasks: dict[str, TaskFacts] = field(default_factory=dict)
    goals: Children = field(default_factory=dict)
    agents: Children = field(default_factory=dict)
    checkpoints: Children = field(default_factory=dict)
    effects: Children = field(default_factory=dict)
    snapshots: dict[int, tuple[int, int]] = field(default_factory=dict)
    usage: dict[UsageDay, Usage] = field(default_factory=dict)
    attachments: set[str] = field(default_factory=set)
    size_bytes: int = 0

    def add(self, events: Iterable[Event]) -> "Projection":
        """Take the next events into account; returns itself."""
        for event in events:
            self.size_bytes += len(event.payload)
            fold = FOLDS.get(event.type)
            if fold is None:
                continue
            if event.erased is None:
                fold(self, event, read(event, BODIES[event.type]))
            elif event.type == StateUpdated.TYPE:
                self.state = patched(self.state, NO_PATCH, event.created_at)
            elif event.type == SessionForked.TYPE:
                _fork(self, event, None)
        return self


def created(before: SessionFacts, body: SessionCreated) -> SessionFacts:
    """The session as its creator described it; metadata and tags that it has already stay."""
    document = dict(before.document)
    found = {
        "metadata": {**(body.metadata or {}), **document.get("metadata", {})},
        "tags": list(dict.fromkeys((*document.get("tags", ()), *(body.tags or ())))),
        "parentSession": body.parent_session,
        "previousSession": body.previous_session,
    }
    document |= {name: value for name, value in found.items() if value}
    if body.initial is not None and body.initial is not UNSET:
        document["initial"] = body.initial
    agent, user_id = body.agent or before.agent, body.user_id or before.user_id
    return replace(before, agent=agent, user_id=user_id, document=document)


def with_metadata(before: SessionFacts, body: MetadataUpdated) -> SessionFacts:
    """The session after a patch of its metadata."""
    metadata = merge(before.document.get("metadata", {}), body.patch)
    return replace(before, document={**before.document, "metadata": metadata})


def with_tags(before: SessionFacts, body: TagsUpdated) -> SessionFacts:
    """The session after tags were added and removed; their order is that of their first adding."""
    tags = [tag for tag in before.document.get("tags", ()) if tag not in body.remove]
    tags += [tag for tag in dict.fromkeys(body.add) if tag not in tags]
    return replace(before, document={**before.document, "tags": tags})


def finalized(
    before: SessionFacts, body: SessionFinalized, at: int, others: Mapping[str, Any] = NOTHING
) -> SessionFacts:
    """The session after it was ended, or ended otherwise than before; other members of its end are kept with it."""
    final = {"status": body.status, "outcome": body.outcome, "response": body.response, **others, "at": at}
    return replace(before, status=body.status, document={**before.document, "final": final})


def superseded(before: SessionFacts, body: SessionReset) -> SessionFacts:
    """The session after its keys moved on to another."""
    return replace(before, document={**before.document, "nextSession": body.next_session})


def with_hold(before: SessionFacts, body: HoldChanged) -> SessionFacts:
    """The session after a legal hold was laid on it or released."""
    return replace(before, held=body.held)


def forked(before: SessionFacts, body: SessionForked | None) -> SessionFacts:
    """The session as a fork begins: what it was, but open, free, and with its own place in the lineage, if that was
    not erased."""
    dropped = ("final", "previousSession", "nextSession")
    document = {name: value for name, value in before.document.items() if name not in dropped}
    document["forkedFrom"] = {} if body is None else {"sessionId": body.session_id, "seq": body.seq}
    return replace(before, status=statuses.ACTIVE, held=False, document=document)


def patched(before: StateFacts, body: StateUpdated, at: int) -> StateFacts:
    """The state after a patch; one that was imported says which version it is."""
    return StateFacts(body.version or before.version + 1, merge(before.document, body.patch), at)


def moved(before: TaskFacts | None, change: TaskUpdated, at: int) -> TaskFacts:
    """The task after a change of state; its document's members are replaced by the change's."""
    document = before.document if before else {}
    return TaskFacts(
        before.context_id if before else change.context_id,
        change.state,
        {**document, **change.changes},
        before.version + 1 if before else 1,
        before.created_at if before else at,
        at,
    )


def new_goal(number: int, body: GoalAdded, at: int) -> Child:
    """A goal as it was added."""
    document = {"description": body.description, "priority": body.priority, "createdAt": at}
    if body.status in statuses.ENDED_GOALS:
        document["completedAt"] = at
    return Child(number, body.status, document)


def changed_goal(before: Child, body: GoalUpdated, at: int) -> Child:
    """The goal after a change of its status, description or priority."""
    status = body.changes.get("status", before.status)
    document = {**before.document, **body.changes}
    document.pop("status", None)
    if status not in statuses.ENDED_GOALS:
        document.pop("completedAt", None)
    elif before.status not in statuses.ENDED_GOALS:
        document["completedAt"] = at
    return Child(before.number, status, document)


def new_agent(number: int, body: AgentSpawned, at: int) -> Child:
    """A sub-agent as it was spawned."""
    return Child(number, statuses.ACTIVE, {"type": body.type, "task": body.task, "spawnedAt": at})


def completed_agent(before: Child, body: AgentCompleted, at: int) -> Child:
    """The sub-agent after it ended."""
    return Child(before.number, body.status, {**before.document, "completedAt": at, "result": body.result})


def new_checkpoint(number: int, body: CheckpointCreated, at: int) -> Child:
    """A checkpoint as it was made."""
    return Child(number, body.reason, {"name": body.name, "seq": body.seq, "createdAt": at})


def started_effect(number: int, body: ToolStarted, at: int) -> Child:
    """A tool's effect as it was started."""
    return Child(number, statuses.STARTED, {"tool": body.tool, "digest": body.digest, "startedAt": at})


def finished_effect(before: Child, body: ToolFinished, at: int) -> Child:
    """The effect after somebody said what became of it."""
    return Child(before.number, body.status, {**before.document, "finishedAt": at, "result": body.result})


def more_usage(before: Usage, body: UsageRecorded) -> Usage:
    """The usage with one more call."""
    return Usage(
        before.calls + 1,
        before.input_tokens + body.input_tokens,
        before.output_tokens + body.output_tokens,
        before.cached_tokens + body.cached_tokens,
        before.cost_micros + body.cost_micros,
    )


def usage_day(body: UsageRecorded, at: int) -> UsageDay:
    """Which day and model a call belongs to."""
    return UsageDay(at // DAY_MS, body.model)


def add_child(children: Children, child_id: str, child: Callable[[int], Child]) -> None:
    """Add a child with the next number; the newest is always the last, so that no log takes long to fold."""
    newest = next(reversed(children.values()), None)
    made = child(newest.number + 1 if newest else 1)
    children.pop(child_id, None)
    children[child_id] = made


def surplus(checkpoints: Children) -> list[str]:
    """The ids of the oldest checkpoints beyond the newest 25."""
    by_age = sorted(checkpoints, key=lambda name: checkpoints[name].number)
    return by_age[:-MAX_CHECKPOINTS]


def merge(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Objects merge, arrays and scalars replace, null removes."""
    result = dict(document)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            under = result.get(name)
            result[name] = merge(under if isinstance(under, dict) else {}, value)
        else:
            result[name] = value
    return result


def _session(body: type[Body], fold: Callable[[SessionFacts, Body], SessionFacts]) -> "Entry":
    def run(into: Projection, event: Event, body: Any) -> None:
        into.session = fold(into.session, body)

    return body.TYPE, run


def _add(name: str, id_name: str, body: type[Body], fold: Callable[[int, Body, int], Child]) -> "Entry":
    def run(into: Projection, event: Event, body: Any) -> None:
        add_child(getattr(into, name), getattr(body, id_name), lambda number: fold(number, body, event.created_at))

    return body.TYPE, run


def _change(name: str, id_name: str, body: type[Body], fold: Callable[[Child, Body, int], Child]) -> "Entry":
    def run(into: Projection, event: Event, body: Any) -> None:
        children: Children = getattr(into, name)
        child_id = getattr(body, id_name)
        before = children.get(child_id)
        if before is not None:  # unless the event that made it was erased
            children[child_id] = fold(before, body, event.created_at)

    return body.TYPE, run


def _finalize(into: Projection, event: Event, body: SessionFinalized) -> None:
    others = other_members(SessionFinalized, event.payload)
    into.session = finalized(into.session, body, event.created_at, others)


def _fork(into: Projection, event: Event, body: SessionForked | None) -> None:
    into.session = forked(into.session, body)
    into.tasks, into.usage = {}, {}  # the source's turns, and counted there


def _patch(into: Projection, event: Event, body: StateUpdated) -> None:
    into.state = patched(into.state, body, event.created_at)


def _task(into: Projection, event: Event, body: TaskUpdated) -> None:
    into.tasks[body.task_id] = moved(into.tasks.get(body.task_id), body, event.created_at)


def _checkpoint(into: Projection, event: Event, body: CheckpointCreated) -> None:
    add_child(into.checkpoints, body.checkpoint_id, lambda number: new_checkpoint(number, body, event.created_at))
    for name in surplus(into.checkpoints):
        del into.checkpoints[name]


def _snapshot(into: Projection, event: Event, body: SnapshotSaved | Compacted) -> None:
    into.snapshots[event.seq] = (body.first_seq, body.last_seq)


def _usage(into: Projection, event: Event, body: UsageRecorded) -> None:
    day = usage_day(body, event.created_at)
    into.usage[day] = more_usage(into.usage.get(day, Usage()), body)


def _attachment(into: Projection, event: Event, body: AttachmentAdded) -> None:
    into.attachments.add(body.digest)


Fold = Callable[[Projection, Event, Any], None]
Entry = tuple[str, Fold]

FOLDS: Mapping[str, Fold] = dict(
    (
        _session(SessionCreated, created),
        _session(MetadataUpdated, with_metadata),
        _session(TagsUpdated, with_tags),
        _session(SessionReset, superseded),
        _session(HoldChanged, with_hold),
        _add("goals", "goal_id", GoalAdded, new_goal),
        _change("goals", "goal_id", GoalUpdated, changed_goal),
        _add("agents", "agent_id", AgentSpawned, new_agent),
        _change("agents", "agent_id", AgentCompleted, completed_agent),
        _add("effects", "call_id", ToolStarted, started_effect),
        _change("effects", "call_id", ToolFinished, finished_effect),
        (SessionFinalized.TYPE, _finalize),
        (SessionForked.TYPE, _fork),
        (StateUpdated.TYPE, _patch),
        (TaskUpdated.TYPE, _task),
        (CheckpointCreated.TYPE, _checkpoint),
        (SnapshotSaved.TYPE, _snapshot),
        (Compacted.TYPE, _snapshot),
        (UsageRecorded.TYPE, _usage),
        (AttachmentAdded.TYPE, _attachment),
    )
)
