"""The tool that asks another agent."""

from typing import ClassVar

import msgspec

from holdfast.models import Tool
from holdfast.runtime.peers import PeerNotAllowed
from holdfast.runtime.permissions.modes import WORKSPACE_WRITE
from holdfast.runtime.tools import ToolContext, ToolUse, declare


class AskPeer(msgspec.Struct, frozen=True):
    """Ask another agent something, and wait for its answer."""

    url: str
    text: str

    has_effect: ClassVar[bool] = True
    need: ClassVar[str] = WORKSPACE_WRITE
    """The operator allows each agent that may be asked: the tool itself needs no more."""
    declaration: ClassVar[Tool] = declare(
        "ask_agent",
        "Ask another agent over A2A and wait for its answer; it remembers what you asked before in this conversation.",
        {"url": "The agent's A2A URL.", "text": "What to tell or ask it."},
    )

    async def run(self, context: ToolContext) -> str:
        """Do it; what the model is told."""
        if context.ask_agent is None:
            raise PeerNotAllowed("this agent may ask no other")
        return await context.ask_agent(self.url, self.text, context.call_id)


PEER_TOOLS: tuple[type[ToolUse], ...] = (AskPeer,)
