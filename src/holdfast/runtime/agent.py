"""The bundled agent as a handler for A2A: the turn loop over a turn of the server.

The prompt is made from what the store kept, or the conversation's file, so what the agent knows of a conversation
survives the process.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import ClassVar

from holdfast.a2a import Handler, InputRequired, Output, Turn
from holdfast.core import HoldfastError
from holdfast.core.errors import InvalidInput
from holdfast.models.messages import Backend
from holdfast.runtime.compaction import THRESHOLD, fitting_prompt
from holdfast.runtime.file_tools import FILE_TOOLS
from holdfast.runtime.memory_tools import MEMORY_TOOLS
from holdfast.runtime.peer_tools import PEER_TOOLS
from holdfast.runtime.peers import Peers
from holdfast.runtime.served.conversation_files import ConversationFiles
from holdfast.runtime.served.file_turn import file_turn
from holdfast.runtime.served.turn_log import A2ATurnLog
from holdfast.runtime.shell_tools import SHELL_TOOLS
from holdfast.runtime.skills import SKILL_TOOLS
from holdfast.runtime.tool_calls import tool_calls
from holdfast.runtime.tools import ToolUse
from holdfast.runtime.turn.loop import ITERATION_LIMIT, TurnEnded, TurnLoop, TurnSettings
from holdfast.runtime.turn.phases import TurnPhases
from holdfast.runtime.user_tools import USER_TOOLS, UserQuestion

MAX_ROUNDS = 16

TOOLS: tuple[type[ToolUse], ...] = (*FILE_TOOLS, *MEMORY_TOOLS, *SKILL_TOOLS, *PEER_TOOLS, *USER_TOOLS)
MORE_TOOLS: dict[str, type[ToolUse]] = {tool.declaration.name: tool for tool in SHELL_TOOLS}
"""What an agent has only if whoever runs it says so: its callers could do anything with it."""


class NoAnswer(HoldfastError):
    """The model went on calling tools and never answered."""

    code: ClassVar[str] = "no_answer"
    status: ClassVar[int] = 502


def bundled_agent(
    backend: Backend,
    *,
    name: str = "main",
    peers: Peers | None = None,
    compact_over: int = THRESHOLD,
    more_tools: Sequence[str] = (),
    files: ConversationFiles | None = None,
) -> Handler:
    """An agent that answers with this model; its memories are under its name, and it may ask these peers.

    A prompt of more than `compact_over` tokens is compacted. `more_tools` are those of `MORE_TOOLS` that it has, too.
    With `files` its conversations are kept there, else in the log of their sessions alone.
    """
    unknown = sorted(set(more_tools) - MORE_TOOLS.keys())
    if unknown:
        raise InvalidInput(f"there is no tool {unknown[0]!r:.80}", hint=f"one of {', '.join(MORE_TOOLS)}")
    offered = (*TOOLS, *(MORE_TOOLS[tool] for tool in dict.fromkeys(more_tools)))

    async def handle(turn: Turn) -> AsyncIterator[Output]:
        tools = tool_calls(turn, offered, agent=name, peers=peers or Peers())
        async with _kept(turn) as log:
            loop = TurnLoop(backend, log, tools, TurnSettings(MAX_ROUNDS), TurnPhases())
            try:
                async with aclosing(loop.run()) as events:
                    async for event in events:
                        if isinstance(event, str):
                            yield event
                        elif isinstance(event, TurnEnded) and event.code == ITERATION_LIMIT:
                            raise NoAnswer(f"the model gave no answer in {MAX_ROUNDS} rounds of tool calls")
                await log.end()
            except UserQuestion as question:
                await log.end(question.text)
                yield InputRequired(question.text)

    @asynccontextmanager
    async def _kept(turn: Turn) -> AsyncIterator[A2ATurnLog]:
        """Where the turn is kept, until it is over."""
        if files is None:
            prompt = await fitting_prompt(turn, compact_over)
            yield A2ATurnLog(turn, prompt, model=backend.model, compact_over=compact_over)
            return
        async with file_turn(turn, files, model=backend.model, compact_over=compact_over) as log:
            yield log

    return handle
