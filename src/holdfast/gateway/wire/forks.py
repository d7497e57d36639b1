"""What becomes of a session, on the wire: its end, forks, resets, tags, holds, deletion, and its keys."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from holdfast.core.statuses import COMPLETED, SessionStatus
from holdfast.gateway.wire.children import EffectView, GoalView, SnapshotView, SubAgentView
from holdfast.gateway.wire.sessions import Action, SessionRow
from holdfast.gateway.wire.types import TEXT, Body, Document, Name, OwnName, Seq, SessionId, Time


class SessionEnd(Body):
    """How a session ends."""

    status: SessionStatus = COMPLETED
    outcome: Any = None
    response: Any = None
    idempotency_key: OwnName | None = None


class SessionEndView(Struct, rename="camel"):
    """A session that has ended, and what was said of it."""

    session_id: str
    status: str
    final: Raw


class TagChange(Body):
    """Tags to add and to remove."""

    add: list[Name] = field(default_factory=list)
    remove: list[Name] = field(default_factory=list)
    idempotency_key: OwnName | None = None


class Tags(Struct, rename="camel"):
    """A session's tags."""

    session_id: str
    tags: list[str]


class Hold(Body):
    """Lay a legal hold on a session, or release it."""

    held: bool
    reason: Annotated[str, Meta(max_length=512, extra_json_schema=TEXT)] = ""


class HoldView(Struct, rename="camel"):
    """Whether a session is under legal hold."""

    session_id: str
    held: bool


class DeletionView(Struct, rename="camel"):
    """A session that was deleted, and what its log was."""

    session_id: str
    events: int
    head_hash: str
    deleted_at: Time


class Fork(Body):
    """Where to fork, by a seq or a checkpoint; a new session key to route to the fork, if one is named.

    `seq` is taken for `at`. Without a place, the fork is at the end of the log.
    """

    at: Seq | None = None
    seq: Seq | None = None
    checkpoint_id: Name | None = None
    session_id: SessionId | None = None
    key: Name | None = None


class Branch(Body):
    """The id of a branch, and a new session key to route to it."""

    session_id: SessionId | None = None
    key: Name | None = None


class Successor(Body):
    """The id of the session that takes the place of another; one is made if there is none."""

    session_id: SessionId | None = None


class Origin(Struct, rename="camel"):
    """The session and the event that a fork begins with."""

    session_id: str
    seq: Seq


class ForkView(Struct, rename="camel"):
    """A session that was forked, and from where."""

    session_id: str
    forked_from: Origin
    head_seq: Seq


class SuccessorView(Struct, rename="camel"):
    """A session that took the place of another on its keys."""

    session_id: str
    previous_session: str
    keys: list[str]


class RouteView(Struct, rename="camel"):
    """A session that a key routes to, or did until `endedAt`."""

    session_id: str
    started_at: Time
    ended_at: Time | None


class KeyView(Struct, rename="camel"):
    """A session key: the session it routes to now, and the newest of those it ever did, oldest first.

    `sessionId` is null if that session was deleted: the key's next use makes a new one. `cursor` is for the page of the
    routes before these; null if there are none.
    """

    key: str
    session_id: str | None
    routes: list[RouteView]
    metadata: Document
    created_at: Time
    updated_at: Time
    cursor: str | None


class ResumeView(Struct, rename="camel"):
    """All that a program needs to go on: `events` are the newest after the snapshot, `complete` says that none lacks.

    Goals, agents and effects are those still open; of more than 1,000 of a kind, or 4 MiB, the newest, and
    `goalsOmitted`, `agentsOmitted` and `effectsOmitted` say how many are not shown.
    """

    session: SessionRow
    snapshot: SnapshotView | None
    events: list[Action]
    complete: bool
    state: Document
    goals: list[GoalView]
    agents: list[SubAgentView]
    effects: list[EffectView]
    goals_omitted: int | UnsetType = UNSET
    agents_omitted: int | UnsetType = UNSET
    effects_omitted: int | UnsetType = UNSET
