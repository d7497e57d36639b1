"""A turn over A2A whose conversation is the log of its session: the server keeps its message and its answer."""

import uuid

from holdfast.a2a import Turn
from holdfast.core.retry import until_written
from holdfast.models.messages import CompletionResponse, PromptMessage, ToolCall
from holdfast.models.usage import CACHE_READ
from holdfast.runtime.compaction import trim_results
from holdfast.runtime.turn.loop import Review
from holdfast.runtime.turn.tool_runs import ToolResult


class A2ATurnLog:
    """A turn over A2A: the server keeps its message and its answer, and what comes between them lasts as long as the
    turn; every answer is taken."""

    def __init__(self, turn: Turn, messages: list[PromptMessage], *, model: str, compact_over: int) -> None:
        self._turn = turn
        self._messages = messages
        self._model = model
        self._compact_over = compact_over

    async def prompt(self) -> list[PromptMessage]:
        """All that the model is asked next."""
        return trim_results(self._messages, self._compact_over)

    async def add(self, message: PromptMessage) -> None:
        """Keep a message for the next prompt."""
        self._messages.append(message)

    async def moved(self) -> None:
        """The task's state is the server's, and it has no phases."""

    async def count(self, answer: CompletionResponse) -> None:
        """Record what an answer cost; it did, also if the turn is run again."""
        used, key = answer.usage, uuid.uuid4().hex
        await until_written(
            lambda: self._turn.store.usage.record(
                self._turn.session_id,
                self._model,
                input_tokens=used.get("prompt_tokens", 0),
                output_tokens=used.get("completion_tokens", 0),
                cached_tokens=used.get(CACHE_READ, 0),
                idempotency_key=key,
            )
        )

    async def ran(self, call: ToolCall, result: ToolResult) -> None:
        """Its effects are in the log by now."""

    async def review(self, content: str) -> Review:
        """Every answer is taken."""
        return Review("answered", "the model has answered")

    async def end(self, question: str | None = None) -> None:
        """The server keeps the answer, or the question that the turn rests with."""
