"""What travels in A2A, as plain data that neither wire version owns.

`v03` and `v10` read requests into these and write these as answers; everything else in the package knows only
these. The JSON in a part is kept as it came: numbers keep their types.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from holdfast.core import TaskState


class Role(StrEnum):
    USER = "user"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str
    metadata: dict[str, Any] | None = None
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class DataPart:
    """A JSON value."""

    data: Any
    metadata: dict[str, Any] | None = None
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file: its bytes as base64 text, or where it is.

    One that has been taken in also has the `digest` under which the store keeps its bytes, and their `size`; `raw`
    is then left out until somebody is shown the part.
    """

    raw: str | None = None
    url: str | None = None
    filename: str | None = None
    media_type: str | None = None
    metadata: dict[str, Any] | None = None
    digest: str | None = None
    size: int | None = None


Part = TextPart | DataPart | FilePart


def text_of(parts: tuple[Part, ...]) -> str:
    """The words of a message: its text parts, one per line."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a request said beside its message: kept with it for its turn, and shown to nobody."""

    metadata: dict[str, Any] | None = None
    output_modes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One message, from either side."""

    role: Role
    message_id: str
    parts: tuple[Part, ...]
    context_id: str | None = None
    task_id: str | None = None
    reference_task_ids: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None
    extensions: tuple[str, ...] = ()
    envelope: Envelope | None = None


@dataclass(frozen=True, slots=True)
class Artifact:
    """A result of a task; one without an id is given one when it is recorded."""

    parts: tuple[Part, ...]
    artifact_id: str = ""
    name: str | None = None
    description: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task as a client is shown it."""

    task_id: str
    context_id: str
    state: TaskState
    updated_at: int
    message: Message | None = None
    """What the status says in words, if it says anything."""
    artifacts: tuple[Artifact, ...] = ()
    history: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """News of a task's state; `final` if its stream ends with this."""

    task_id: str
    context_id: str
    state: TaskState
    updated_at: int
    message: Message | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class ArtifactUpdate:
    """News of an artifact: all of it, or with `append` what is to be added to its parts."""

    task_id: str
    context_id: str
    artifact: Artifact
    append: bool = False
    last_chunk: bool = False


Sent = TaskView | Message
"""What a message is answered with."""

News = TaskView | Message | StatusUpdate | ArtifactUpdate
"""What a stream is made of."""


@dataclass(frozen=True, slots=True)
class PushConfig:
    """Where a task's news are to be posted, in the wire version that asked; an id that is None is the task's own."""

    url: str
    config_id: str | None = None
    token: str | None = None
    scheme: str | None = None
    credentials: str | None = None
    version: str = "1.0"


@dataclass(frozen=True, slots=True)
class AnswerTerms:
    """That a message is an answer, for a task that waits for one: with a version, as it stands in that version."""

    version: int | None = None


@dataclass(frozen=True, slots=True)
class SendRequest:
    """A message to be answered: wait for the end of its turn or not, with how much history."""

    message: Message
    wait: bool = True
    history_length: int | None = None
    push: PushConfig | None = None
    idempotency_key: str | None = None
    """The sender's own name for this message: under it no other message is taken."""
    caller: str | None = None
    """Who sent it, if callers are known apart."""
    session_key: str | None = None
    """The key of the conversation, if the sender names that and not a context."""
    answers: AnswerTerms | None = None


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A question about one task; one that follows it is told its news until it ends, or only until it rests."""

    task_id: str
    history_length: int | None = None
    to_its_end: bool = True


@dataclass(frozen=True, slots=True)
class ListRequest:
    """A question for tasks, the last changed first; `changed_since` is in epoch milliseconds."""

    context_id: str | None = None
    state: TaskState | None = None
    changed_since: int | None = None
    page_size: int = 50
    page_token: str = ""
    history_length: int | None = None
    artifacts: bool = False


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Some tasks of a list; an empty token says that there are no more."""

    tasks: tuple[TaskView, ...]
    next_page_token: str
    page_size: int
    total_size: int


@dataclass(frozen=True, slots=True)
class PushRequest:
    """A question about where a task's news are posted: to one place (`config_id`), or all."""

    task_id: str
    config_id: str | None = None


class Operation(Enum):
    """What a method asks for, by whatever name a wire version calls it."""

    SEND = "send a message"
    STREAM = "send a message and follow its task"
    GET = "get a task"
    LIST = "list tasks"
    CANCEL = "cancel a task"
    SUBSCRIBE = "follow a task"
    PUSH_SET = "have a task's news posted"
    PUSH_GET = "get where a task's news are posted"
    PUSH_LIST = "list where a task's news are posted"
    PUSH_DELETE = "end the posting of a task's news"
    EXTENDED_CARD = "get the extended agent card"


READING = frozenset(
    {
        *(Operation.GET, Operation.LIST, Operation.SUBSCRIBE),
        *(Operation.PUSH_GET, Operation.PUSH_LIST, Operation.EXTENDED_CARD),
    }
)
"""Operations that change nothing."""
