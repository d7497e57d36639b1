"""What goes to a model and what comes back, as plain frozen data, and the one verb of a backend.

Content is text, or a list of parts such as `{"type": "text", "text": "…"}` if a message has more than words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

Part = dict[str, Any]
Content = str | list[Part]

TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to have a tool run; the result comes back as a TOOL message with this id."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a prompt."""

    role: Role
    content: Content
    tool_calls: list[ToolCall] = field(default_factory=list)
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """The words of the content: all of it, or its text parts, one per line."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part["text"] for part in self.content if part["type"] in TEXT_PARTS)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CompletionResponse:
    """A model's answer: words, tool calls or both, and what they cost in tokens."""

    content: str
    tool_calls: list[ToolCall] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)


class Backend(Protocol):
    """A model."""

    async def complete(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> CompletionResponse:
        """The model's answer to a prompt; a ModelError if there is none."""
        ...
