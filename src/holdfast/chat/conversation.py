"""A conversation that can take a turn, wherever the turn runs, and what is heard of it meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from holdfast.core.errors import HoldfastError

COMPLETED = "completed"
FAILED = "failed"
INPUT_REQUIRED = "input-required"


class OnlyInProject(HoldfastError):
    """The turns run at a gateway, which decides this itself."""

    code: ClassVar[str] = "only_in_project"
    status: ClassVar[int] = 400
    hint = "`holdfast chat` without --key runs its turns in this folder"


@dataclass(frozen=True, slots=True)
class Words:
    """A piece of what the agent says."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolBegin:
    """A tool is about to run; `shown` is what it was asked, in short."""

    tool: str
    shown: str


@dataclass(frozen=True, slots=True)
class ToolEnd:
    """A tool has run, has failed or was refused."""

    tool: str
    shown: str
    status: str
    text: str


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """What the agent says it is doing."""

    text: str


ChatTurnEvent = Words | ToolBegin | ToolEnd | ChatStatus
Hear = Callable[[ChatTurnEvent], None]


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """How a turn ended: all the words of its answer, `completed`, `failed` or `input-required`, and why if it failed.

    `checks` are what was looked at after it, each with whether it was as it should be.
    """

    text: str
    status: str = COMPLETED
    detail: str | None = None
    checks: tuple[tuple[str, bool], ...] = ()
    usage: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConversationEntry:
    """A conversation in a list: its name, when it last changed, and what it is about."""

    name: str
    updated_at: str
    about: str


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """A message of the conversation, by `user`, `agent`, `tool`, `summary` or `runtime`; of one that was taken back,
    the speaker says so."""

    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool in a list: what it needs, whether that is granted, asked or refused now, and what it does."""

    name: str
    need: str
    grant: str
    description: str


class ChatConversation(Protocol):
    """What can be talked to. Each method raises a HoldfastError if it cannot do its work."""

    @property
    def name(self) -> str:
        """By which it is resumed."""
        ...

    @property
    def kept_when_stopped(self) -> str:
        """What stays of a turn that is stopped, in words for the user."""
        ...

    async def about(self) -> list[tuple[str, str]]:
        """What somebody needs to know who begins: names and values."""
        ...

    async def say(self, text: str, hear: Hear) -> TurnAnswer:
        """Take a turn; `hear` is told what happens meanwhile. If it is cancelled, the turn is stopped."""
        ...

    async def entries(self) -> list[ConversationEntry]:
        """The conversations that could be resumed, newest first."""
        ...

    async def resume(self, name: str) -> str | None:
        """Go on with another one; `last` is the newest. What the user should know of it, if anything. NotFound, and
        nothing has changed, if there is none."""
        ...

    async def renew(self) -> None:
        """Begin a new one; this one stays where it is."""
        ...

    async def fork(self, name: str | None) -> str | None:
        """Go on with a copy of this one, or of another; the original stays as it is. What the user should know of it,
        if anything."""
        ...

    async def compact(self) -> str | None:
        """Sum up the older messages now; what that did, or None if there was nothing to sum up."""
        ...

    async def undo(self) -> str | None:
        """Take the last question and its answer out of the conversation; the question, or None if there is none."""
        ...

    async def usage(self) -> list[tuple[str, str]]:
        """What the conversation has cost: names and values."""
        ...

    async def sayings(self) -> list[TranscriptEntry]:
        """All that was said, oldest first."""
        ...

    async def unresolved(self) -> list[str]:
        """The tools of which nobody knows whether they ran, in words; OnlyInProject if a gateway has them."""
        ...

    async def settle(self, number: int, *, ran: bool) -> str:
        """Say what became of one of them, counted from 1; which one it was. NotFound if there are not so many."""
        ...

    def tools(self) -> list[ToolEntry]:
        """The tools of the agent; OnlyInProject if a gateway has them."""
        ...

    def modes(self) -> list[tuple[str, str]]:
        """The modes that hold: names and values; OnlyInProject if a gateway has them."""
        ...

    def set_mode(self, mode: str) -> None:
        """Let another mode hold, of permissions or of the workflow; OnlyInProject if a gateway has them."""
        ...
