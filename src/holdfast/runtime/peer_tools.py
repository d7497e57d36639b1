"""The tool that asks another agent."""

from typing import ClassVar

import msgspec

from holdfast.models import Tool
from holdfast.runtime.peer_wire import HOPS, Question
from holdfast.runtime.peers import context_with
from holdfast.runtime.tools import ToolContext, ToolUse, declare


class AskPeer(msgspec.Struct, frozen=True):
    """Ask another agent something, and wait for its answer."""

    url: str
    text: str

    has_effect: ClassVar[bool] = True
    declaration: ClassVar[Tool] = declare(
        "ask_agent",
        "Ask another agent over A2A and wait for its answer; it remembers what you asked before in this conversation.",
        {"url": "The agent's A2A URL.", "text": "What to tell or ask it."},
    )

    async def run(self, context: ToolContext) -> str:
        """Do it; what the model is told."""
        turn = context.turn
        hops = (turn.metadata or {}).get(HOPS, 0)
        conversation = context_with(turn.store.store_id, turn.store.tenant, turn.session_id, self.url)
        question = Question(self.text, context.call_id, conversation, max(hops, 0) if isinstance(hops, int) else 0)
        return await context.peers.ask(self.url, question)


PEER_TOOLS: tuple[type[ToolUse], ...] = (AskPeer,)
