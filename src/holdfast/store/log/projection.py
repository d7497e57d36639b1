"""What the rows beside the log mean: folds over a session's events.

A write applies a fold to the row it read; `verify`, fork, import and erasure apply the same folds to the whole log.
So a row can always be derived again, and one that cannot is corrupt. An erased event says nothing any more: it
changes nothing but the count of the state's versions, and that a fork began.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from holdfast.core import Event, TaskState, Usage, types

DEFAULT_AGENT = "main"
MAX_CHECKPOINTS = 25
DAY_MS = 86_400_000

ENDED_GOAL = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The part of a session's row that its events decide."""

    agent: str = DEFAULT_AGENT
    user_id: str | None = None
    status: str = "active"
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
                fold(self, event, event.value())
            elif event.type == types.STATE_UPDATED:
                self.state = patched(self.state, {"patch": {}}, event.created_at)
            elif event.type == types.SESSION_FORKED:
                _fork(self, event, {})
        return self


def created(before: SessionFacts, body: Mapping[str, Any]) -> SessionFacts:
    """The session as its creator described it; metadata and tags that it has already stay."""
    document = dict(before.document)
    metadata = {**(body.get("metadata") or {}), **document.get("metadata", {})}
    tags = list(dict.fromkeys((*document.get("tags", ()), *(body.get("tags") or ()))))
    document |= {name: found for name, found in (("metadata", metadata), ("tags", tags)) if found}
    document |= {name: body[name] for name in ("parentSession", "previousSession") if body.get(name)}
    if body.get("initial") is not None:
        document["initial"] = body["initial"]
    agent, user_id = body.get("agent") or before.agent, body.get("userId") or before.user_id
    return replace(before, agent=agent, user_id=user_id, document=document)


def with_metadata(before: SessionFacts, body: Mapping[str, Any]) -> SessionFacts:
    """The session after a patch of its metadata."""
    metadata = merge(before.document.get("metadata", {}), body["patch"])
    return replace(before, document={**before.document, "metadata": metadata})


def with_tags(before: SessionFacts, body: Mapping[str, Any]) -> SessionFacts:
    """The session after tags were added and removed; their order is that of their first adding."""
    tags = [tag for tag in before.document.get("tags", ()) if tag not in body["remove"]]
    tags += [tag for tag in dict.fromkeys(body["add"]) if tag not in tags]
    return replace(before, document={**before.document, "tags": tags})


def finalized(before: SessionFacts, body: Mapping[str, Any], at: int) -> SessionFacts:
    """The session after it was ended, or ended otherwise than before."""
    return replace(before, status=body["status"], document={**before.document, "final": {**body, "at": at}})


def superseded(before: SessionFacts, body: Mapping[str, Any]) -> SessionFacts:
    """The session after its keys moved on to another."""
    return replace(before, document={**before.document, "nextSession": body["nextSession"]})


def with_hold(before: SessionFacts, body: Mapping[str, Any]) -> SessionFacts:
    """The session after a legal hold was laid on it or released."""
    return replace(before, held=body["held"])


def forked(before: SessionFacts, body: Mapping[str, Any]) -> SessionFacts:
    """The session as a fork begins: what it was, but open, free, and with its own place in the lineage."""
    dropped = ("final", "previousSession", "nextSession")
    document = {name: value for name, value in before.document.items() if name not in dropped}
    document["forkedFrom"] = {name: body[name] for name in ("sessionId", "seq") if name in body}
    return replace(before, status="active", held=False, document=document)


def patched(before: StateFacts, body: Mapping[str, Any], at: int) -> StateFacts:
    """The state after a patch; one that was imported says which version it is."""
    return StateFacts(body.get("version") or before.version + 1, merge(before.document, body["patch"]), at)


def moved(before: TaskFacts | None, change: Mapping[str, Any], at: int) -> TaskFacts:
    """The task after a change of state; its document's members are replaced by the change's."""
    document = before.document if before else {}
    return TaskFacts(
        before.context_id if before else change["contextId"],
        TaskState(change["state"]),
        {**document, **change["changes"]},
        before.version + 1 if before else 1,
        before.created_at if before else at,
        at,
    )


def new_goal(number: int, body: Mapping[str, Any], at: int) -> Child:
    """A goal as it was added."""
    status = body["status"]
    document = {"description": body["description"], "priority": body["priority"], "createdAt": at}
    if status in ENDED_GOAL:
        document["completedAt"] = at
    return Child(number, status, document)


def changed_goal(before: Child, body: Mapping[str, Any], at: int) -> Child:
    """The goal after a change of its status, description or priority."""
    changes = dict(body["changes"])
    status = changes.pop("status", before.status)
    document = {**before.document, **changes}
    if status not in ENDED_GOAL:
        document.pop("completedAt", None)
    elif before.status not in ENDED_GOAL:
        document["completedAt"] = at
    return Child(before.number, status, document)


def new_agent(number: int, body: Mapping[str, Any], at: int) -> Child:
    """A sub-agent as it was spawned."""
    return Child(number, "active", {"type": body["type"], "task": body["task"], "spawnedAt": at})


def completed_agent(before: Child, body: Mapping[str, Any], at: int) -> Child:
    """The sub-agent after it ended."""
    return Child(before.number, body["status"], {**before.document, "completedAt": at, "result": body["result"]})


def new_checkpoint(number: int, body: Mapping[str, Any], at: int) -> Child:
    """A checkpoint as it was made."""
    return Child(number, body["reason"], {"name": body["name"], "seq": body["seq"], "createdAt": at})


def started_effect(number: int, body: Mapping[str, Any], at: int) -> Child:
    """A tool's effect as it was started."""
    return Child(number, "started", {"tool": body["tool"], "digest": body["digest"], "startedAt": at})


def finished_effect(before: Child, body: Mapping[str, Any], at: int) -> Child:
    """The effect after somebody said what became of it."""
    return Child(before.number, body["status"], {**before.document, "finishedAt": at, "result": body["result"]})


def more_usage(before: Usage, body: Mapping[str, Any]) -> Usage:
    """The usage with one more call."""
    return Usage(
        before.calls + 1,
        before.input_tokens + body["inputTokens"],
        before.output_tokens + body["outputTokens"],
        before.cached_tokens + body["cachedTokens"],
        before.cost_micros + body["costMicros"],
    )


def usage_day(body: Mapping[str, Any], at: int) -> UsageDay:
    """Which day and model a call belongs to."""
    return UsageDay(at // DAY_MS, body["model"])


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


def _session(fold: Callable[[SessionFacts, Mapping[str, Any]], SessionFacts]) -> "Fold":
    def run(into: Projection, event: Event, body: Any) -> None:
        into.session = fold(into.session, body)

    return run


def _add(name: str, id_name: str, fold: Callable[[int, Mapping[str, Any], int], Child]) -> "Fold":
    def run(into: Projection, event: Event, body: Any) -> None:
        add_child(getattr(into, name), body[id_name], lambda number: fold(number, body, event.created_at))

    return run


def _change(name: str, id_name: str, fold: Callable[[Child, Mapping[str, Any], int], Child]) -> "Fold":
    def run(into: Projection, event: Event, body: Any) -> None:
        children: Children = getattr(into, name)
        before = children.get(body[id_name])
        if before is not None:  # unless the event that made it was erased
            children[body[id_name]] = fold(before, body, event.created_at)

    return run


def _finalize(into: Projection, event: Event, body: Any) -> None:
    into.session = finalized(into.session, body, event.created_at)


def _fork(into: Projection, event: Event, body: Any) -> None:
    into.session = forked(into.session, body)
    into.tasks, into.usage = {}, {}  # the source's turns, and counted there


def _patch(into: Projection, event: Event, body: Any) -> None:
    into.state = patched(into.state, body, event.created_at)


def _task(into: Projection, event: Event, body: Any) -> None:
    into.tasks[body["taskId"]] = moved(into.tasks.get(body["taskId"]), body, event.created_at)


def _checkpoint(into: Projection, event: Event, body: Any) -> None:
    add_child(into.checkpoints, body["checkpointId"], lambda number: new_checkpoint(number, body, event.created_at))
    for name in surplus(into.checkpoints):
        del into.checkpoints[name]


def _snapshot(into: Projection, event: Event, body: Any) -> None:
    into.snapshots[event.seq] = (body["firstSeq"], body["lastSeq"])


def _usage(into: Projection, event: Event, body: Any) -> None:
    day = usage_day(body, event.created_at)
    into.usage[day] = more_usage(into.usage.get(day, Usage()), body)


def _attachment(into: Projection, event: Event, body: Any) -> None:
    into.attachments.add(body["digest"])


Fold = Callable[[Projection, Event, Any], None]

FOLDS: Mapping[str, Fold] = {
    types.SESSION_CREATED: _session(created),
    types.METADATA_UPDATED: _session(with_metadata),
    types.TAGS_UPDATED: _session(with_tags),
    types.SESSION_RESET: _session(superseded),
    types.HOLD_CHANGED: _session(with_hold),
    types.SESSION_FINALIZED: _finalize,
    types.SESSION_FORKED: _fork,
    types.STATE_UPDATED: _patch,
    types.TASK_UPDATED: _task,
    types.GOAL_ADDED: _add("goals", "goalId", new_goal),
    types.GOAL_UPDATED: _change("goals", "goalId", changed_goal),
    types.AGENT_SPAWNED: _add("agents", "agentId", new_agent),
    types.AGENT_COMPLETED: _change("agents", "agentId", completed_agent),
    types.CHECKPOINT_CREATED: _checkpoint,
    types.TOOL_STARTED: _add("effects", "callId", started_effect),
    types.TOOL_FINISHED: _change("effects", "callId", finished_effect),
    types.SNAPSHOT_SAVED: _snapshot,
    types.COMPACTED: _snapshot,
    types.USAGE_RECORDED: _usage,
    types.ATTACHMENT_ADDED: _attachment,
}
