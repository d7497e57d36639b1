"""What a tool is: a class whose fields are the arguments of a call, and what a call may use.

A tool that cannot do what is asked says why in words: they go back to the model, which may try otherwise.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from holdfast.a2a import Turn
from holdfast.models import Tool
from holdfast.runtime.peers import Peers


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call of a tool may use: the turn, the agent's name, the agents it may ask, and the call's own id.

    The id is the same if a turn that was interrupted comes to the same call again.
    """

    turn: Turn
    agent: str
    peers: Peers
    call_id: str


class ToolUse(Protocol):
    """A call of a tool. One with an effect changes something outside the store, and is therefore recorded around."""

    declaration: ClassVar[Tool]
    has_effect: ClassVar[bool]

    async def run(self, context: ToolContext) -> str:
        """Do it; what the model is told."""
        ...


def declare(name: str, description: str, required: dict[str, str], **optional: dict[str, Any]) -> Tool:
    """A tool whose required arguments are texts, each with its description; the optional ones are schemas."""
    properties = {key: {"type": "string", "description": about} for key, about in required.items()}
    schema = {"type": "object", "properties": {**properties, **optional}, "required": list(required)}
    return Tool(name, description, schema)
