"""What is said to the gateway's agent over the API, and what it answers."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from holdfast.core import TaskState
from holdfast.gateway.wire.types import Body, Document, OwnName, Seq, Time

Base64 = Annotated[str, Meta(extra_json_schema={"format": "byte"})]
Speaker = Literal["user", "agent"]


class NewAttachment(Body):
    """A file with a message: its bytes, or where it is in the agent's workspace."""

    name: str | None = None
    media_type: str | None = None
    data: Base64 | None = None
    uri: str | None = None


class NewMessage(Body):
    """A message to the agent: text, files or both."""

    text: str = ""
    attachments: list[NewAttachment] = field(default_factory=list)
    idempotency_key: OwnName | None = None
    stream: bool = False


class ChatAnswer(Struct, rename="camel", omit_defaults=True):
    """How the agent's turn ended: with its words, or with why there are none."""

    key: str
    session_id: str
    task_id: str
    status: TaskState
    text: str
    detail: str | None = None


class InterruptedTurn(Struct, rename="camel"):
    """The turn that was broken off, and is begun again as after a restart."""

    session_id: str
    task_id: str


class ChatEvent(Struct, rename="camel", omit_defaults=True):
    """What a streamed answer is told in: `task` first, `text` and `status` as they come, then `answer` or `error`."""

    type: Literal["task", "text", "status", "answer", "error"]
    task_id: str | None = None
    text: str | None = None
    key: str | None = None
    session_id: str | None = None
    status: TaskState | None = None
    detail: str | None = None
    problem: Document | None = None


class ChatAttachment(Struct, rename="camel", omit_defaults=True):
    """A file that came with a message; the digest is that of its bytes."""

    name: str | None = None
    media_type: str | None = None
    size: int | None = None
    digest: str | None = None
    uri: str | None = None


class ChatMessage(Struct, rename="camel", omit_defaults=True):
    """A message of the conversation."""

    seq: Seq
    role: Speaker
    text: str
    timestamp: Time
    message_id: str
    task_id: str | None = None
    attachments: list[ChatAttachment] = []


class ChatHistory(Struct, rename="camel"):
    """The newest messages, oldest first; `cursor` is the `before` of the page before, if there is one.

    `sessionId` is null if the key's session was deleted and nothing has been said since.
    """

    key: str
    session_id: str | None
    messages: list[ChatMessage]
    cursor: Seq | None = None
