"""What travels in A2A, as plain data that neither wire version owns.

`v03` and `v10` read requests into these and write these as answers; everything else in the package knows only
these. The JSON in a part is kept as it came: numbers keep their types.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from holdfast.core import TaskState


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class TextPart:
    """Words."""

    text: str
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class DataPart:
    """A JSON value."""

    data: Any
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file: its bytes as base64 text, or where it is."""

    raw: str | None = None
    url: str | None = None
    filename: str | None = None
    media_type: str | None = None
    metadata: dict[str, Any] | None = None


Part = TextPart | DataPart | FilePart


def text_of(parts: tuple[Part, ...]) -> str:
    """The words of a message: its text parts, one per line."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


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


@dataclass(frozen=True, slots=True)
class Artifact:
    """A result of a task."""

    artifact_id: str
    parts: tuple[Part, ...]


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
class SendRequest:
    """A message to be answered: wait for the end of its turn or not, with how much history."""

    message: Message
    wait: bool = True
    history_length: int | None = None


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A question about one task."""

    task_id: str
    history_length: int | None = None


class Operation(Enum):
    """What a method asks for, by whatever name a wire version calls it."""

    SEND = "send a message"
    GET = "get a task"
    CANCEL = "cancel a task"
    LIST = "list tasks"
    STREAM = "stream"
    PUSH = "push notifications"
    EXTENDED_CARD = "extended agent card"
