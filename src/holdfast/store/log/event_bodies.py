"""What Holdfast's own events say, as types: checked when events come from outside, in an archive."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from holdfast.core import Event, TaskState, types
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_name, check_together

Name = Annotated[str, Meta(min_length=1, max_length=512)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
Count = Annotated[int, Meta(ge=0, lt=2**48)]
Seq = Annotated[int, Meta(ge=1, le=2**63 - 1)]
SessionStatus = Literal["active", "completed", "failed", "cancelled", "interrupted", "archived"]
GoalStatus = Literal["pending", "in_progress", "completed", "failed", "cancelled"]
Priority = Literal["low", "medium", "high"]


class SessionCreated(Struct, rename="camel"):
    """A session was described."""

    agent: Name | None = None
    user_id: Name | None = None
    initial: Any = None
    metadata: dict[str, Any] | None = None
    tags: list[Name] | None = None
    parent_session: str | None = None
    previous_session: str | None = None


class SessionFinalized(Struct):
    """A session was ended."""

    status: SessionStatus
    outcome: Any
    response: Any


class SessionForked(Struct, rename="camel"):
    """What came before was copied from another session."""

    session_id: Name
    seq: Seq
    hash: Digest | None = None


class SessionReset(Struct, rename="camel"):
    """The session's keys moved on to another."""

    next_session: Name


class Patch(Struct):
    """Metadata were merged with this."""

    patch: dict[str, Any]


class StateUpdated(Struct):
    """The state was merged with this; one that was imported says which version it is."""

    patch: dict[str, Any]
    version: Annotated[int, Meta(ge=1, lt=2**53)] | None = None
    children: Digest | None = None


class TagsUpdated(Struct):
    """Tags were added and removed."""

    add: list[Name]
    remove: list[Name]


class HoldChanged(Struct):
    """A legal hold was laid on the session, or released."""

    held: bool


class GoalAdded(Struct, rename="camel"):
    """A goal was set."""

    goal_id: Name
    description: str
    status: GoalStatus
    priority: Priority


class GoalChanges(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What became of a goal."""

    description: str | msgspec.UnsetType = msgspec.UNSET
    status: GoalStatus | msgspec.UnsetType = msgspec.UNSET
    priority: Priority | msgspec.UnsetType = msgspec.UNSET


class GoalUpdated(Struct, rename="camel"):
    """A goal was changed."""

    goal_id: Name
    changes: GoalChanges


class AgentSpawned(Struct, rename="camel"):
    """A sub-agent was set to work."""

    agent_id: Name
    type: Name
    task: Any


class AgentCompleted(Struct, rename="camel"):
    """A sub-agent ended."""

    agent_id: Name
    status: Literal["completed", "failed"]
    result: Any


class CheckpointCreated(Struct, rename="camel"):
    """A point in the log was named."""

    checkpoint_id: Name
    name: str
    seq: Seq
    reason: Literal["manual", "compaction"]


class Span(Struct, rename="camel"):
    """A snapshot or a compaction stands for these events."""

    first_seq: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    last_seq: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class ToolStarted(Struct, rename="camel"):
    """A tool with an effect is about to run."""

    call_id: Name
    tool: Name
    digest: Digest


class ToolFinished(Struct, rename="camel"):
    """What became of a tool's effect."""

    call_id: Name
    status: Literal["finished", "failed"]
    result: Any


class UsageRecorded(Struct, rename="camel"):
    """A model was called."""

    model: Name
    input_tokens: Count
    output_tokens: Count
    cached_tokens: Count
    cost_micros: Count


class AttachmentAdded(Struct):
    """Bytes were named."""

    digest: Digest


class TaskUpdated(Struct, rename="camel"):
    """A turn began, moved or ended."""

    task_id: Name
    context_id: Annotated[str, Meta(pattern="^[^\\x00]*$")]
    state: TaskState
    changes: dict[str, Any]


class EventsErased(Struct, rename="camel"):
    """What events said was removed."""

    seqs: list[Seq]
    reason: str
    said_again: list[Seq] = []


BODIES: dict[str, type[Struct]] = {
    types.EVENTS_ERASED: EventsErased,
    types.SESSION_CREATED: SessionCreated,
    types.SESSION_FINALIZED: SessionFinalized,
    types.SESSION_FORKED: SessionForked,
    types.SESSION_RESET: SessionReset,
    types.METADATA_UPDATED: Patch,
    types.STATE_UPDATED: StateUpdated,
    types.TAGS_UPDATED: TagsUpdated,
    types.HOLD_CHANGED: HoldChanged,
    types.GOAL_ADDED: GoalAdded,
    types.GOAL_UPDATED: GoalUpdated,
    types.AGENT_SPAWNED: AgentSpawned,
    types.AGENT_COMPLETED: AgentCompleted,
    types.CHECKPOINT_CREATED: CheckpointCreated,
    types.SNAPSHOT_SAVED: Span,
    types.COMPACTED: Span,
    types.TOOL_STARTED: ToolStarted,
    types.TOOL_FINISHED: ToolFinished,
    types.USAGE_RECORDED: UsageRecorded,
    types.ATTACHMENT_ADDED: AttachmentAdded,
    types.TASK_UPDATED: TaskUpdated,
}
COLUMNS = frozenset(
    {
        "agent",
        "user_id",
        "tags",
        "add",
        "goal_id",
        "agent_id",
        "checkpoint_id",
        "call_id",
        "model",
        "task_id",
    }
)
"""The members that become text columns, which take fewer characters than JSON does."""

DECODERS = {name: msgspec.json.Decoder(body) for name, body in BODIES.items()}


def check_body(event: Event) -> None:
    """InvalidInput if one of Holdfast's own events says what it never would."""
    decoder = DECODERS.get(event.type)
    if decoder is None or event.erased is not None:
        return
    try:
        body = decoder.decode(event.payload)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"event {event.seq} is not a {event.type}: {error}") from None
    for name in COLUMNS.intersection(body.__struct_fields__):
        value = getattr(body, name)
        for text in value if isinstance(value, list) else [value]:
            if text is not None:
                check_name(text, f"the {name} of event {event.seq}")
    if isinstance(body, TaskUpdated):
        check_together(f"the ids of the task and the context of event {event.seq}", body.task_id, body.context_id)
