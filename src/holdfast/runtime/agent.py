"""The turn loop: ask the model, run the tools it calls, tell it what they gave, until it answers in words.

What the model says is passed on as it comes. The prompt is made from what the store kept, so what the agent knows of a
conversation survives the process.
"""

import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, ClassVar

from holdfast.a2a import Handler, Turn
from holdfast.core import HoldfastError
from holdfast.core.retry import until_written
from holdfast.models import Backend, CompletionResponse, ModelUnreachable
from holdfast.models.messages import PromptMessage, PromptRole
from holdfast.models.usage import CACHE_READ
from holdfast.runtime.compaction import THRESHOLD, fitting_prompt, trim_results
from holdfast.runtime.file_tools import FILE_TOOLS
from holdfast.runtime.memory_tools import MEMORY_TOOLS
from holdfast.runtime.peer_tools import PEER_TOOLS
from holdfast.runtime.peers import Peers
from holdfast.runtime.skills import SKILL_TOOLS
from holdfast.runtime.tool_calls import ToolCalls
from holdfast.runtime.tools import ToolUse

MAX_ROUNDS = 16

TOOLS: tuple[type[ToolUse], ...] = (*FILE_TOOLS, *MEMORY_TOOLS, *SKILL_TOOLS, *PEER_TOOLS)


class NoAnswer(HoldfastError):
    """The model went on calling tools and never answered."""

    code: ClassVar[str] = "no_answer"
    status: ClassVar[int] = 502


def bundled_agent(
    backend: Backend, *, name: str = "main", peers: Peers | None = None, compact_over: int = THRESHOLD
) -> Handler:
    """An agent that answers with this model; its memories are under its name, and it may ask these peers.

    A prompt of more than `compact_over` tokens is compacted.
    """

    async def handle(turn: Turn) -> AsyncIterator[str]:
        calls = ToolCalls(turn, TOOLS, agent=name, peers=peers or Peers())
        messages = await fitting_prompt(turn, compact_over)
        for _ in range(MAX_ROUNDS):
            answer: CompletionResponse | None = None
            said = ""
            stream: Any = backend.stream(trim_results(messages, compact_over), [tool.declaration for tool in TOOLS])
            async with aclosing(stream):
                async for item in stream:
                    if isinstance(item, CompletionResponse):
                        answer = item
                    else:
                        said += item
                        yield item
            if answer is None:
                raise ModelUnreachable("the model's stream ended without its answer")
            await _count(turn, backend.model, answer)
            if answer.content and not said:
                yield answer.content
            if not answer.tool_calls:
                return
            if answer.content:
                yield "\n\n"
            messages.append(PromptMessage(PromptRole.ASSISTANT, answer.content, answer.tool_calls))
            for call in answer.tool_calls:
                messages.append(PromptMessage(PromptRole.TOOL, await calls.run(call), tool_call_id=call.id))
        raise NoAnswer(f"the model gave no answer in {MAX_ROUNDS} rounds of tool calls")

    return handle


async def _count(turn: Turn, model: str, answer: CompletionResponse) -> None:
    """Record what an answer cost; it did, also if the turn is run again."""
    used, key = answer.usage, uuid.uuid4().hex
    await until_written(
        lambda: turn.store.usage.record(
            turn.session_id,
            model,
            input_tokens=used.get("prompt_tokens", 0),
            output_tokens=used.get("completion_tokens", 0),
            cached_tokens=used.get(CACHE_READ, 0),
            idempotency_key=key,
        )
    )
