"""What clients send and get, as types: actions, sessions, state, the service.

Nothing of a body is dropped. An action or a response without `details` keeps its other members as its details; a
member that a body does not have is refused. `details` is never decoded here: its bytes are stored and given back as
they came.
"""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from holdfast.core import Event, Session
from holdfast.core.clock import to_iso
from holdfast.gateway.wire.children import AgentInPatch, GoalInPatch, GoalView, SubAgentView
from holdfast.gateway.wire.queries import DamagedEvent
from holdfast.gateway.wire.summaries import SummaryView
from holdfast.gateway.wire.types import Body, Document, Name, OwnName, Seq, SessionId, Timestamp
from holdfast.store import MAX_EVENTS

MAX_ACTIONS = 1_000
DEFAULT_ACTIONS = 100


class NewAction(Body):
    """An action to append. Without details, all members that are not named here are its details."""

    type: OwnName
    details: Raw | UnsetType = UNSET
    timestamp: Timestamp = None
    event_id: Name | None = None
    idempotency_key: OwnName | None = None
    expected_seq: Seq | None = None
    parent_id: Name | None = None


NewActions = Annotated[list[NewAction], Meta(min_length=1, max_length=MAX_EVENTS)]


class ActionReceipt(Struct, rename="camel"):
    """Where an action is in its session's log."""

    seq: Seq
    event_id: str
    timestamp: str


class BatchReceipt(Struct, rename="camel"):
    """Where the actions of a batch are; `replayed` counts those that were there before."""

    first_seq: Seq
    last_seq: Seq
    seqs: list[int]
    replayed: int


class WriteQuery(Struct, rename="camel"):
    """How to append."""

    create: Annotated[bool, Meta(description="false refuses a session that does not exist")] = True


class BatchQuery(Struct, rename="camel"):
    """How to append a batch."""

    create: Annotated[bool, Meta(description="false refuses a session that does not exist")] = True
    expected_seq: Annotated[Seq | None, Meta(description="refuse the batch unless the log ends here")] = None


class ActionsQuery(Struct, rename="camel"):
    """Which actions to read."""

    limit: Annotated[int, Meta(ge=1, le=MAX_ACTIONS)] = DEFAULT_ACTIONS
    before: Annotated[Seq | None, Meta(description="only actions with a smaller seq")] = None
    after: Annotated[Seq | None, Meta(description="the oldest actions with a larger seq")] = None
    type: Annotated[list[Name] | None, Meta(description="only actions of these types")] = None


class NewResponse(Body):
    """A response to append. Without details, all members that are not named here are its details."""

    details: Raw | UnsetType = UNSET
    timestamp: Timestamp = None
    event_id: Name | None = None
    idempotency_key: OwnName | None = None
    expected_seq: Seq | None = None
    parent_id: Name | None = None


class Action(Struct, rename="camel", omit_defaults=True):
    """An action as it was appended; of an erased one the details are null, and `erased` is their SHA-256."""

    seq: Seq
    event_id: str
    type: str
    details: Raw
    timestamp: str
    parent_id: str | None = None
    idempotency_key: str | None = None
    erased: str | None = None


class WindowCursor(Struct):
    """Where to go on: `before` for older actions, null if there are none; `after` for those that come."""

    before: Seq | None
    after: Seq


class ActionPage(Struct):
    """Actions, oldest first."""

    actions: list[Action]
    cursor: WindowCursor


class NewSession(Body):
    """A session's description."""

    session_id: SessionId | None = None
    user_id: Name | None = None
    initial: Any = None
    tags: list[Name] | None = None
    metadata: dict[str, Any] | None = None
    parent_session: SessionId | None = None
    agent: Name | None = None


class SessionMade(Struct, rename="camel"):
    """The session that was described."""

    success: bool
    session_id: str


class SessionRow(Struct, rename="camel"):
    """A session in a list; its `summary` is there only if it was asked for."""

    session_id: str
    agent: str
    user_id: str | None
    status: str
    created_at: str
    updated_at: str
    head_seq: Seq
    head_hash: str
    tags: list[str]
    metadata: Document
    lineage: Document
    held: bool
    size_bytes: int
    summary: SummaryView | UnsetType = UNSET


class SessionList(Struct):
    """Sessions, newest first; `cursor` asks for the next page, null at the end."""

    sessions: list[SessionRow]
    cursor: str | None


class SessionView(Struct, omit_defaults=True):
    """A session with its state and the newest window of its log.

    `metadata` holds the members of a list row and, beside them, those of the session's own metadata. `damaged` names
    the events of the window that are not what was written and so are not shown; it is there only if there are some.
    `summary` is there only if it was asked for.
    """

    metadata: Document
    initial: Raw
    state: Document
    actions: list[Action]
    responses: list[Action]
    final: Raw
    cursor: WindowCursor
    damaged: list[DamagedEvent] = field(default_factory=list)
    summary: SummaryView | UnsetType = UNSET


class StateView(Struct, rename="camel"):
    """A session's state: these members, and the document's own beside them.

    Of more than 1,000 goals or sub-agents, or 4 MiB of them, the newest are shown; `goalsOmitted` and `agentsOmitted`
    say how many are not.
    """

    session_id: str
    version: int
    goals: list[GoalView]
    agents: list[SubAgentView]
    goals_omitted: int | UnsetType = UNSET
    agents_omitted: int | UnsetType = UNSET


class StatePatch(Struct, rename="camel"):
    """A patch: objects merge, arrays and scalars replace, null removes. All other members are the patch.

    `goals` and `agents` are no part of the document: they are set one by one, by their ids, and none is removed.
    """

    expected_version: Annotated[int, Meta(ge=0)] | None = None
    goals: list[GoalInPatch] = field(default_factory=list)
    agents: list[AgentInPatch] = field(default_factory=list)


class Connections(Struct, rename="camel"):
    """Who follows live: connections, and the users and sessions they asked for."""

    total_connections: int
    users: int
    sessions: int


class Storage(Struct, rename="camel"):
    """The database behind the gateway; a gateway that asks for tokens does not say where it is."""

    engine: str
    version: str
    url: str | None
    store_id: str


class Health(Struct):
    """The process is alive; `uptime` is in seconds."""

    status: str
    version: str
    uptime: float
    websocket: Connections
    storage: Storage


class Ready(Struct, rename="camel"):
    """Reads and writes are served; a gateway that asks for tokens shows no figures."""

    status: str
    storage: Storage
    schema_version: int
    feed_lag_seconds: float
    figures: Document


class ServiceView(Struct):
    """What runs here."""

    service: str
    version: str
    endpoints: list[str]


class Problem(Struct, omit_defaults=True):
    """What went wrong: RFC 9457, with a stable code and, where there is one, a hint."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str | None = None


def action(event: Event) -> Action:
    """The event as clients see it."""
    return Action(
        event.seq,
        event.event_id,
        event.type,
        details(event),
        to_iso(event.created_at),
        event.parent_id,
        event.idempotency_key,
        event.erased.hex() if event.erased is not None else None,
    )


def details(event: Event) -> Raw:
    """The event's payload as part of an answer: null if it was erased."""
    return Raw(event.payload if event.erased is None else b"null")


def session_row(session: Session, metadata: Any, summary: SummaryView | UnsetType = UNSET) -> SessionRow:
    """The session as a list shows it."""
    return SessionRow(
        session.session_id,
        session.agent,
        session.user_id,
        session.status,
        to_iso(session.created_at),
        to_iso(session.updated_at),
        session.head_seq,
        session.head_hash.hex(),
        list(session.tags),
        metadata,
        session.lineage,
        session.held,
        session.size_bytes,
        summary,
    )
