"""The plug-in interface: an agent is one async generator function from a turn to the text of its answer."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from holdfast.a2a.wire import Part, Role


@dataclass(frozen=True, slots=True)
class PastMessage:
    """A message that was said before this turn."""

    role: Role
    text: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message to answer, and all that was said before it in the same conversation, oldest first.

    `text` is the message's text parts, one per line: empty for a message that is only a file. `workspace` is the
    folder that the agent may write in.
    """

    context_id: str
    task_id: str
    message_id: str
    text: str
    parts: tuple[Part, ...]
    history: tuple[PastMessage, ...]
    workspace: Path


class Handler(Protocol):
    """Answers turns.

    The pieces of text that it yields make the answer, joined as they come. If it raises, the task fails and the
    conversation goes on. It runs in one turn of a conversation at a time, and is cancelled if the turn is.
    """

    def __call__(self, turn: Turn, /) -> AsyncIterator[str]:
        """The answer, piece by piece."""
        ...
