"""What Holdfast's own events say, one type for each kind of event.

Writers make a body, and its bytes have the members in the order of the fields; a field that is not set is left out.
Folds and imports read through the same types. A member that a type does not know is ignored here and stays in the
event, whose stored bytes nobody changes. Bodies are only checked when they are read, not when they are made.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Protocol, TypedDict, TypeVar, cast

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from holdfast.core import strict_json, types
from holdfast.core.errors import Corrupt, InvalidInput
from holdfast.core.ids import check_name, check_together
from holdfast.core.nouns import Event, TaskState
from holdfast.core.statuses import AgentEnd, CheckpointReason, EffectEnd, GoalPriority, GoalStatus, SessionStatus

Name = Annotated[str, Meta(min_length=1, max_length=512)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
Count = Annotated[int, Meta(ge=0, lt=2**48)]
Seq = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Place = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A seq, or 0 before the first event."""


class EventBody(Struct, rename="camel"):
    """What one of Holdfast's own events says; `TYPE` is the event's type."""

    TYPE: ClassVar[str]


class SessionCreated(EventBody):
    """A session was described."""

    TYPE = types.SESSION_CREATED
    agent: Name | UnsetType | None = UNSET
    user_id: Name | UnsetType | None = UNSET
    initial: Any = UNSET
    metadata: dict[str, Any] | UnsetType | None = UNSET
    tags: list[Name] | UnsetType | None = UNSET
    parent_session: str | UnsetType | None = UNSET
    previous_session: str | UnsetType | None = UNSET


class SessionFinalized(EventBody):
    """A session was ended, or opened again. Members that its end had in imported files are kept beside these."""

    TYPE = types.SESSION_FINALIZED
    status: SessionStatus
    outcome: Any
    response: Any


class SessionForked(EventBody):
    """What came before was copied from another session."""

    TYPE = types.SESSION_FORKED
    session_id: Name
    seq: Seq
    hash: Digest | UnsetType | None = UNSET


class SessionReset(EventBody):
    """The session's keys moved on to another."""

    TYPE = types.SESSION_RESET
    next_session: Name
    keys: list[str] | UnsetType | None = UNSET
    reason: str | UnsetType | None = UNSET


class SessionDeleted(EventBody):
    """The session was deleted; the last event of its log, unless it was undeleted."""

    TYPE = types.SESSION_DELETED
    reason: str | UnsetType | None = UNSET


class SessionRestored(EventBody):
    """The session was undeleted: all before this event came back from the archive. The keys that route to it again, and
    those that were used for others meanwhile."""

    TYPE = types.SESSION_RESTORED
    keys: list[str]
    keys_taken: list[str] | UnsetType = UNSET


class MetadataUpdated(EventBody):
    """The metadata were merged with this."""

    TYPE = types.METADATA_UPDATED
    patch: dict[str, Any]


class TagsUpdated(EventBody):
    """Tags were added and removed."""

    TYPE = types.TAGS_UPDATED
    add: list[Name]
    remove: list[Name]


class HoldChanged(EventBody):
    """A legal hold was laid on the session, or released."""

    TYPE = types.HOLD_CHANGED
    held: bool
    reason: str | UnsetType | None = UNSET


class StateUpdated(EventBody):
    """The state was merged with this; one that was imported says which version it is, one with goals or sub-agents
    the digest of what was said of them."""

    TYPE = types.STATE_UPDATED
    patch: dict[str, Any]
    version: Annotated[int, Meta(ge=1, lt=2**53)] | UnsetType | None = UNSET
    children: Digest | UnsetType | None = UNSET


class GoalAdded(EventBody):
    """A goal was set."""

    TYPE = types.GOAL_ADDED
    goal_id: Name
    description: str
    status: GoalStatus
    priority: GoalPriority


class GoalChanges(TypedDict, total=False):
    """What became of a goal, in the order in which it was said."""

    description: str
    status: GoalStatus
    priority: GoalPriority


class GoalUpdated(EventBody):
    """A goal was changed."""

    TYPE = types.GOAL_UPDATED
    goal_id: Name
    changes: GoalChanges


class AgentSpawned(EventBody):
    """A sub-agent was set to work."""

    TYPE = types.AGENT_SPAWNED
    agent_id: Name
    type: Name
    task: Any


class AgentCompleted(EventBody):
    """A sub-agent ended."""

    TYPE = types.AGENT_COMPLETED
    agent_id: Name
    status: AgentEnd
    result: Any


class CheckpointCreated(EventBody):
    """A point in the log was named."""

    TYPE = types.CHECKPOINT_CREATED
    checkpoint_id: Name
    name: str
    seq: Seq
    reason: CheckpointReason


class SnapshotSaved(EventBody, kw_only=True):
    """A document stands for these events."""

    TYPE = types.SNAPSHOT_SAVED
    document: Any = UNSET
    first_seq: Place
    last_seq: Place


class Compacted(EventBody, kw_only=True):
    """A summary stands for these events; a checkpoint of the log before it follows."""

    TYPE = types.COMPACTED
    summary: Any = UNSET
    first_seq: Place
    last_seq: Place
    last_hash: Digest | UnsetType | None = UNSET
    checkpoint_id: Name | UnsetType | None = UNSET


class ToolStarted(EventBody):
    """A tool with an effect is about to run. Of its arguments there is a digest, and what may be shown of them."""

    TYPE = types.TOOL_STARTED
    call_id: Name
    tool: Name
    digest: Digest
    shown: str | UnsetType | None = UNSET


class ToolFinished(EventBody):
    """What became of a tool's effect."""

    TYPE = types.TOOL_FINISHED
    call_id: Name
    status: EffectEnd
    result: Any
    note: Any = UNSET


class UsageRecorded(EventBody):
    """A model was called."""

    TYPE = types.USAGE_RECORDED
    model: Name
    input_tokens: Count
    output_tokens: Count
    cached_tokens: Count
    cost_micros: Count


class AttachmentAdded(EventBody):
    """Bytes were named."""

    TYPE = types.ATTACHMENT_ADDED
    digest: Digest
    name: str | UnsetType | None = UNSET
    media_type: str | UnsetType | None = UNSET
    size_bytes: Place | UnsetType | None = UNSET


class TaskUpdated(EventBody):
    """A turn began, moved or ended."""

    TYPE = types.TASK_UPDATED
    task_id: Name
    context_id: str
    state: TaskState
    changes: dict[str, Any]


class EventsErased(EventBody):
    """What events said was removed. If some of them had said the same of others, it is said again."""

    TYPE = types.EVENTS_ERASED
    seqs: list[Seq]
    reason: str
    said_again: list[Seq] | UnsetType = UNSET


class LeftOut(EventBody):
    """Stands in an imported log where the original had an event that the files did not say."""

    TYPE = types.LEFT_OUT


BODIES: dict[str, type[EventBody]] = {
    body.TYPE: body
    for body in (
        SessionCreated,
        SessionFinalized,
        SessionForked,
        SessionReset,
        SessionDeleted,
        SessionRestored,
        MetadataUpdated,
        TagsUpdated,
        HoldChanged,
        StateUpdated,
        GoalAdded,
        GoalUpdated,
        AgentSpawned,
        AgentCompleted,
        CheckpointCreated,
        SnapshotSaved,
        Compacted,
        ToolStarted,
        ToolFinished,
        UsageRecorded,
        AttachmentAdded,
        TaskUpdated,
        EventsErased,
        LeftOut,
    )
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
"""The fields that become text columns, which take fewer characters than JSON does."""

_DECODERS = {body: msgspec.json.Decoder(body) for body in BODIES.values()}
_CHANGES = frozenset(GoalChanges.__annotations__)

Body = TypeVar("Body", bound=EventBody)


def decode(body: type[Body], payload: bytes) -> Body:
    """The body that a payload is; msgspec.ValidationError if it is another thing."""
    return cast(Body, _DECODERS[body].decode(payload))


class StoredEvent(Protocol):
    """An event as a log has it, or as much of it as a reader needs."""

    @property
    def seq(self) -> int:
        """Its place in the log."""
        ...

    @property
    def type(self) -> str:
        """What kind of event it is."""
        ...

    @property
    def payload(self) -> bytes:
        """What it says."""
        ...


def read(event: StoredEvent, body: type[Body]) -> Body:
    """What an event of this kind says, which was not erased; Corrupt if it says what no such event ever would."""
    try:
        return decode(body, event.payload)
    except msgspec.ValidationError as error:
        raise Corrupt(f"event {event.seq} is not a {event.type}: {error}", seq=event.seq) from None


def other_members(body: type[EventBody], payload: bytes) -> dict[str, Any]:
    """The members of a payload that its type does not know."""
    known = frozenset(body.__struct_encode_fields__)
    found = strict_json.members(payload)
    return {name: strict_json.parse_own(bytes(value)) for name, value in found.items() if name not in known}


def with_others(body: EventBody, others: Mapping[str, Any]) -> dict[str, Any]:
    """A body as a JSON object, with members that its type does not know after its own."""
    return {**msgspec.to_builtins(body), **others}


def check(event: Event) -> None:
    """InvalidInput if an event that comes from outside is one of Holdfast's own and says what it never would."""
    kind = BODIES.get(event.type)
    if kind is None or event.erased is not None:
        return
    try:
        body = decode(kind, event.payload)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"event {event.seq} is not a {event.type}: {error}") from None
    for name in COLUMNS.intersection(body.__struct_fields__):
        value = getattr(body, name)
        for text in value if isinstance(value, list) else [value]:
            if text is not None and text is not UNSET:
                check_name(text, f"the {name} of event {event.seq}")
    if isinstance(body, TaskUpdated):
        if "\0" in body.context_id:
            raise InvalidInput(f"the context id of event {event.seq} must not contain a NUL character")
        check_together(f"the ids of the task and the context of event {event.seq}", body.task_id, body.context_id)
    if isinstance(body, GoalUpdated):
        _check_changes(event)


def _check_changes(event: Event) -> None:
    """InvalidInput if a change of a goal has a member that goals do not have: it would be lost on the goal's row."""
    changes = strict_json.members(strict_json.members(event.payload)["changes"])
    for name in changes.keys() - _CHANGES:
        raise InvalidInput(f"event {event.seq} is not a {event.type}: a goal has no {name[:80]!r}")
