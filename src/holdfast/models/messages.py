"""What goes to a model and what comes back, as plain frozen data, and the two verbs of a backend.

Content is text, or a list of parts (`parts`) if a message has more than words.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from holdfast.models.parts import TEXT_PARTS, Content, Part

__all__ = [
    "INTERRUPTED_MARK",
    "RUNTIME_MARK",
    "SUMMARY_MARK",
    "TEXT_PARTS",
    "Backend",
    "CompletionResponse",
    "Content",
    "Part",
    "PromptMessage",
    "PromptRole",
    "Tool",
    "ToolCall",
    "is_by_runtime",
    "runtime_message",
]


SUMMARY_MARK = "[COMPACTED CONTEXT]"
"""How the message begins that stands for older ones."""
RUNTIME_MARK = "[RUNTIME]"
"""How a user message begins that the runtime has written, and no user."""
RUNTIME = "runtime"
"""The `tool_call_id` of such a message: a user may begin one in the same way."""
INTERRUPTED_MARK = "[INTERRUPTED]"
"""How an answer ends that was stopped there, and shown so far."""


class PromptRole(StrEnum):
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
class PromptMessage:
    """One entry of a prompt."""

    role: PromptRole
    content: Content
    tool_calls: list[ToolCall] = field(default_factory=list)
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """The words of the content: all of it, or its text parts, one per line."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part["text"] for part in self.content if part["type"] in TEXT_PARTS)


def runtime_message(text: str) -> PromptMessage:
    """What the runtime, and no user, tells the model."""
    return PromptMessage(PromptRole.USER, f"{RUNTIME_MARK} {text}", tool_call_id=RUNTIME)


def is_by_runtime(message: PromptMessage) -> bool:
    """Whether the runtime has written a message of the user's side."""
    return message.role == PromptRole.USER and message.tool_call_id == RUNTIME


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CompletionResponse:
    """A model's answer: words, tool calls or both, and what they cost in tokens.

    `usage` has `prompt_tokens` (cached ones included), `completion_tokens` and `total_tokens`, and where the endpoint
    says so `cache_read_input_tokens` and `cache_creation_input_tokens`; it is empty if nothing was said.
    """

    content: str
    tool_calls: list[ToolCall] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)


class Backend(Protocol):
    """A model; `model` is the name that its usage is counted under.

    One with `supports_native_tools` is offered tools and calls them by itself; another must be told of them in words.
    """

    @property
    def model(self) -> str: ...

    @property
    def supports_native_tools(self) -> bool: ...

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        tools: Sequence[Tool] = (),
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> CompletionResponse:
        """The model's answer to a prompt; a ModelError if there is none.

        Without a temperature or a number of tokens the backend's own hold.
        """
        ...

    def stream(
        self,
        messages: Sequence[PromptMessage],
        tools: Sequence[Tool] = (),
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[str | CompletionResponse]:
        """The answer in pieces as they come, then all of it; a ModelError, never a short answer, if it is cut."""
        ...
