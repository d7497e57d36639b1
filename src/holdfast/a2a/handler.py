"""The plug-in interface: an agent is one async generator function from a turn to what it answers, piece by piece."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from holdfast.a2a.protocol.wire import Artifact, Part, Role, TextPart
from holdfast.core import Lease
from holdfast.store import Store


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message, kept by the digest of its bytes for as long as the conversation."""

    name: str
    media_type: str
    size: int
    digest: str
    fetch: Callable[[], Awaitable[bytes]] = field(repr=False, compare=False)

    async def read(self) -> bytes:
        """The bytes, as they came."""
        return await self.fetch()


@dataclass(frozen=True, slots=True)
class PastMessage:
    """A message that was said before this turn; `seq` is its place in the log, and `task_id` the task that it was said
    in. A summary stands for the messages up to its `seq`. One that `is_cut` is the first part of an answer whose turn
    was canceled, or failed."""

    role: Role
    text: str
    parts: tuple[Part, ...]
    attachments: tuple[Attachment, ...] = ()
    seq: int = 0
    task_id: str | None = None
    is_summary: bool = False
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """A message to answer, and all that was said before it in the same conversation, oldest first.

    `text` is the message's text parts, one per line: empty for a message that is only a file. `workspace` is the
    folder that the agent may write in. `store`, `session_id` and `lease` are for agents that keep more: whatever is
    written through this view of the store is refused once another process has taken the conversation over.
    `interrupted` says that the turn was begun before, by a process that died or stopped in it. `metadata` and
    `extensions` are the message's; `request_metadata` came beside it, and `accepted_output_modes` are the media types
    that the client can take. `message_seq` is the place of the message in the session's log.
    """

    context_id: str
    task_id: str
    message_id: str
    text: str
    parts: tuple[Part, ...]
    attachments: tuple[Attachment, ...]
    history: tuple[PastMessage, ...]
    workspace: Path
    store: Store
    session_id: str
    lease: Lease
    metadata: dict[str, Any] | None = None
    interrupted: bool = False
    extensions: tuple[str, ...] = ()
    request_metadata: dict[str, Any] | None = None
    accepted_output_modes: tuple[str, ...] = ()
    message_seq: int = 0


@dataclass(frozen=True, slots=True)
class Status:
    """What the agent is doing now, in words: told to whoever follows, no part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class InputRequired:
    """A question back: the turn rests, and the next message to its task goes on with it."""

    text: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """A refusal: the agent will not do what was asked, and says why."""

    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The whole answer as a plain message, instead of a task with artifacts. After other outputs there is a task
    already, and this is what it says when it is completed."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, text: str) -> "Reply":
        """A reply in words."""
        return cls((TextPart(text),))


Output = str | Artifact | Status | InputRequired | Rejected | Reply


class Handler(Protocol):
    """Answers turns.

    Pieces of text make the answer, joined as they come; an artifact is a result beside it. A `Reply`, an
    `InputRequired` or a `Rejected` is the last that is heard of a turn. If the handler raises, the task fails and the
    conversation goes on. It runs in one turn of a conversation at a time, and is cancelled if the turn is.
    """

    def __call__(self, turn: Turn, /) -> AsyncIterator[Output]:
        """The answer, piece by piece."""
        ...
