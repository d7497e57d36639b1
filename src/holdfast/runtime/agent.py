"""The turn loop: ask the model, run the tools it calls, tell it what they gave, until it answers in words.

The prompt is made from the turn alone, so what the agent knows of a conversation is what the store kept of it.
"""

from collections.abc import AsyncIterator, Sequence
from typing import ClassVar

from holdfast.a2a import DataPart, FilePart, Handler, Part, Turn
from holdfast.a2a import Role as Speaker
from holdfast.core import HoldfastError, strict_json
from holdfast.models import Backend, Message, Role
from holdfast.runtime.tools import TOOLS, run

MAX_ROUNDS = 8

ROLES = {Speaker.USER: Role.USER, Speaker.AGENT: Role.ASSISTANT}


class NoAnswer(HoldfastError):
    """The model went on calling tools and never answered."""

    code: ClassVar[str] = "no_answer"
    status: ClassVar[int] = 502


def bundled_agent(backend: Backend) -> Handler:
    """An agent that answers with this model and may write in the turn's workspace."""

    async def handle(turn: Turn) -> AsyncIterator[str]:
        messages = prompt(turn)
        for _ in range(MAX_ROUNDS):
            response = await backend.complete(messages, [tool.declaration for tool in TOOLS])
            if not response.tool_calls:
                yield response.content
                return
            messages.append(Message(Role.ASSISTANT, response.content, response.tool_calls))
            for call in response.tool_calls:
                result = await run(call, turn.workspace)
                messages.append(Message(Role.TOOL, result, tool_call_id=call.id))
        raise NoAnswer(f"the model gave no answer in {MAX_ROUNDS} rounds of tool calls")

    return handle


def prompt(turn: Turn) -> list[Message]:
    """The conversation so far and the message to answer, as a model reads them."""
    past = [Message(ROLES[said.role], _words(said.text, said.parts)) for said in turn.history]
    return [*past, Message(Role.USER, _words(turn.text, turn.parts))]


def _words(text: str, parts: Sequence[Part]) -> str:
    """A message in words: its text, and a line for each part that is not text."""
    lines = [text] if text else []
    for part in parts:
        match part:
            case DataPart():
                lines.append(strict_json.dump(part.data).decode())
            case FilePart():
                kind = f" ({part.media_type})" if part.media_type else ""
                lines.append(f"[attached file: {part.filename or part.url or 'unnamed'}{kind}]")
    return "\n".join(lines)
