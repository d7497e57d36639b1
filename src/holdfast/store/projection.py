"""What the rows beside the log mean: pure folds over a session's events.

A write applies a fold to the row it read; `verify` applies the same folds to the whole log and compares. So a row
can always be derived again, and one that cannot is corrupt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.core import Event, TaskState, types

DEFAULT_AGENT = "main"


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The part of a session's row that its events decide."""

    agent: str = DEFAULT_AGENT
    user_id: str | None = None
    status: str = "active"
    document: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateFacts:
    """A session's working document and how often it was changed."""

    version: int = 0
    document: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A task as its events left it."""

    context_id: str
    state: TaskState
    document: dict[str, Any]
    version: int


@dataclass(frozen=True, slots=True)
class Projection:
    """Everything that a session's events decide."""

    session: SessionFacts = field(default_factory=SessionFacts)
    state: StateFacts = field(default_factory=StateFacts)
    tasks: Mapping[str, TaskFacts] = field(default_factory=dict)


def fold(before: Projection, event: Event) -> Projection:
    """The projection after one more event."""
    match event.type:
        case types.SESSION_CREATED:
            return replace(before, session=created(before.session, event.value()))
        case types.STATE_UPDATED:
            return replace(before, state=patched(before.state, event.value()))
        case types.TASK_UPDATED:
            change = event.value()
            task = moved(before.tasks.get(change["taskId"]), change)
            return replace(before, tasks={**before.tasks, change["taskId"]: task})
        case _:
            return before


def created(before: SessionFacts, body: Mapping[str, Any]) -> SessionFacts:
    """The session as its creator described it."""
    document = {name: body[name] for name in ("initial", "metadata", "tags", "parentSession") if body.get(name)}
    return replace(before, agent=body.get("agent") or before.agent, user_id=body.get("userId"), document=document)


def patched(before: StateFacts, body: Mapping[str, Any]) -> StateFacts:
    """The state after a patch."""
    return StateFacts(before.version + 1, merge(before.document, body["patch"]))


def moved(before: TaskFacts | None, change: Mapping[str, Any]) -> TaskFacts:
    """The task after a change of state; its document's members are replaced by the change's."""
    document = before.document if before else {}
    return TaskFacts(
        before.context_id if before else change["contextId"],
        TaskState(change["state"]),
        {**document, **change["changes"]},
        before.version + 1 if before else 1,
    )


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
