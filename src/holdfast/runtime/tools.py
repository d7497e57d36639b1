"""What a tool is: a class whose fields are the arguments of a call, and what a call may use.

A tool that cannot do what is asked says why in words: they go back to the model, which may try otherwise. It knows
nothing of where a conversation is kept.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from holdfast.models.messages import Tool

PATHS = ("file_path", "folder", "path")
"""The arguments of tools that are paths."""


class MemoryAccess(Protocol):
    """What is remembered beyond a conversation, in a store or in a project's file."""

    async def put(
        self, namespace: str, key: str, value: Any, *, idempotency_key: str | None = None, source: str | None = None
    ) -> Any:
        """Remember a value under a key; the same idempotency key again changes nothing."""
        ...

    async def get(self, namespace: str, key: str) -> Any:
        """The memory under a key; NotFound if there is none."""
        ...

    async def search(self, query: str, *, namespace: str | None = None, limit: int = 20) -> Any:
        """The memories with all of these words."""
        ...

    async def list(self, namespace: str, *, limit: int = 100) -> Any:
        """The first memories of a namespace, by key."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call of a tool may use: the workspace, the memories under the agent's name, another agent to ask by its
    URL and words, and the call's own id.

    The id is the same if a turn that was interrupted comes to the same call again.
    """

    workspace: Path
    memories: MemoryAccess
    agent: str
    session_id: str
    call_id: str
    ask_agent: Callable[[str, str, str], Awaitable[str]] | None = None


class ToolUse(Protocol):
    """A call of a tool. One with an effect changes something outside the store, and is therefore recorded around.

    `need` is the permission that it takes.
    """

    declaration: ClassVar[Tool]
    has_effect: ClassVar[bool]
    need: ClassVar[str]

    async def run(self, context: ToolContext) -> str:
        """Do it; what the model is told."""
        ...


def declare(name: str, description: str, required: dict[str, str], **optional: dict[str, Any]) -> Tool:
    """A tool whose required arguments are texts, each with its description; the optional ones are schemas."""
    properties = {key: {"type": "string", "description": about} for key, about in required.items()}
    schema = {"type": "object", "properties": {**properties, **optional}, "required": list(required)}
    return Tool(name, description, schema)
