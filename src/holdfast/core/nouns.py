"""The things Holdfast keeps, as plain frozen data. What each word means is in CONTRIBUTING.md."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from holdfast.core import strict_json


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to append. `payload` is a JSON value, or the bytes of one, which are kept as they came."""

    type: str
    payload: Any
    event_id: str | None = None
    idempotency_key: str | None = None
    parent_id: str | None = None
    created_at: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One immutable entry of a session's log. `payload` is JSON bytes, exactly as they were given."""

    seq: int
    event_id: str
    type: str
    payload: bytes
    created_at: int
    hash: bytes
    parent_id: str | None = None
    idempotency_key: str | None = None
    erased: bytes | None = None
    """The SHA-256 of a payload that was erased; `payload` is empty then."""

    def value(self) -> Any:
        """The payload as a JSON value; None if it was erased."""
        return None if self.erased is not None else strict_json.parse(self.payload)


@dataclass(frozen=True, slots=True)
class Appended:
    """Where an append's events are: their seqs in the order given. `replayed` counts those that were there before."""

    first_seq: int
    last_seq: int
    seqs: tuple[int, ...]
    event_ids: tuple[str, ...]
    created_at: tuple[int, ...]
    replayed: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """One transcript's row: who, what, since when, and the head of its log."""

    session_id: str
    agent: str
    user_id: str | None
    status: str
    created_at: int
    updated_at: int
    head_seq: int
    head_hash: bytes
    metadata: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    initial: Any = None
    final: dict[str, Any] | None = None
    """How it ended, or was opened again: status, outcome, response and the time."""
    lineage: dict[str, Any] = field(default_factory=dict)
    """Where it came from and went: parentSession, forkedFrom, previousSession, nextSession."""
    held: bool = False
    """Under legal hold: neither deleted nor erased."""
    size_bytes: int = 0
    """The payloads of its events."""


@dataclass(frozen=True, slots=True)
class SessionPage:
    """One page of a list, newest first; `cursor` asks for the next, None at the end."""

    sessions: list[Session]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class State:
    """A session's working document. Version 0 is the empty document of a session that never set one."""

    session_id: str
    version: int
    document: dict[str, Any]
    updated_at: int


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A session key, the session it routes to now, and the key's own document."""

    key: str
    session_id: str
    document: dict[str, Any]
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class Route:
    """A session that a key routes to, or did until `ended_at`."""

    key: str
    session_id: str
    started_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write turns of one session until `expires_at`; a higher `fence` outranks it."""

    session_id: str
    holder: str
    fence: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Goal:
    """What a session is to reach; `replayed` if the call that was to add it found it there."""

    goal_id: str
    description: str
    status: str
    priority: str
    created_at: int
    completed_at: int | None = None
    replayed: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class SubAgent:
    """An agent at work for a session; `replayed` if the call that was to report it found it there."""

    agent_id: str
    type: str
    task: Any
    status: str
    spawned_at: int
    completed_at: int | None = None
    result: Any = None
    replayed: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A named point in the log to branch from or restore to; `replayed` if the call that was to make it found it."""

    checkpoint_id: str
    name: str
    seq: int
    reason: str
    created_at: int
    replayed: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What stands for the events from `first_seq` to `last_seq`: a compaction's summary, or a saved document.

    `replayed` if the call that was to make it found it there.
    """

    seq: int
    first_seq: int
    last_seq: int
    kind: str
    document: Any
    created_at: int
    replayed: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Effect:
    """One call of a tool that changes something outside: started, finished or failed."""

    call_id: str
    tool: str
    digest: str
    status: str
    started_at: int
    finished_at: int | None = None
    result: Any = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What models were asked and answered, in tokens."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_micros: int = 0


@dataclass(frozen=True, slots=True)
class Resumed:
    """All that a program needs to go on with a session, as of one moment.

    `events` are the newest ones after the snapshot; `complete` says that none is left out between the two. Goals,
    agents and effects are the newest that are still open; how many older ones there are beside them is said.
    """

    session: Session
    snapshot: Snapshot | None
    events: list[Event]
    complete: bool
    state: State
    goals: list[Goal]
    agents: list[SubAgent]
    effects: list[Effect]
    goals_omitted: int = 0
    agents_omitted: int = 0
    effects_omitted: int = 0


class TaskState(StrEnum):
    """Where a task is in its life."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"

    @property
    def terminal(self) -> bool:
        """Whether nothing follows."""
        return self in TERMINAL

    @property
    def running(self) -> bool:
        """Whether somebody must be at work on it."""
        return self in {TaskState.SUBMITTED, TaskState.WORKING}


TERMINAL = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED})


@dataclass(frozen=True, slots=True)
class Task:
    """One turn as A2A sees it. `document` holds its status message, artifacts and the ids of its messages."""

    task_id: str
    session_id: str
    context_id: str
    state: TaskState
    document: dict[str, Any]
    created_at: int
    updated_at: int
    version: int
