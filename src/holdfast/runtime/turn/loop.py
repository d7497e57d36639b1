"""The turn loop: ask the model, run the tools it calls, tell it what they gave, until its answer is taken.

There is one loop for every place where an agent runs. What differs is where messages are kept and whether an answer is
taken: that is a `TurnLog`. What the model says is passed on as it comes.
"""

import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

from holdfast.models.errors import ModelUnreachable
from holdfast.models.messages import (
    Backend,
    CompletionResponse,
    PromptMessage,
    PromptRole,
    Tool,
    ToolCall,
    runtime_message,
)
from holdfast.runtime.turn import react
from holdfast.runtime.turn.phases import ASSISTANT, COMPLETION, NORMAL, REPAIR, RETRY, TOOLS, TurnPhases
from holdfast.runtime.turn.tool_runs import ToolResult, ToolRuns

BETWEEN = "\n\n"
"""What separates the words before a round of tools from those after it."""
ITERATION_LIMIT = "iteration_limit"
UNREADABLE = "unreadable_call"


@dataclass(frozen=True, slots=True)
class ToolBegun:
    """A tool is about to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool has run, or was refused."""

    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over: the words of the model's last answer, and the code of why it ended."""

    content: str
    code: str


TurnEvent = str | ToolBegun | ToolEnded | TurnEnded
"""What happens in a turn, in order: pieces of text, tools, and at last its end."""


@dataclass(frozen=True, slots=True)
class Review:
    """Whether an answer is taken; with a `request`, the model is asked on, in a step of this kind."""

    code: str
    text: str
    request: str | None = None
    phase: str = COMPLETION
    kind: str = NORMAL


class TurnLog(Protocol):
    """Where the messages of a turn come from and go to, and who decides that it is over."""

    async def prompt(self) -> list[PromptMessage]:
        """All that the model is asked next."""
        ...

    async def add(self, message: PromptMessage) -> None:
        """Keep a message of this turn; the next prompt has it."""
        ...

    async def moved(self) -> None:
        """Keep that the turn has gone on to another phase."""
        ...

    async def count(self, answer: CompletionResponse) -> None:
        """Count what an answer cost."""
        ...

    async def ran(self, call: ToolCall, result: ToolResult) -> None:
        """Hear how a tool call ended, before the model is told."""
        ...

    async def review(self, content: str) -> Review:
        """Whether an answer without tool calls is taken."""
        ...


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How often the model may be asked, whether its words come in pieces, in which protocol, and with which options."""

    max_iterations: int
    stream: bool = True
    react: bool = False
    options: dict[str, Any] = field(default_factory=dict)


class TurnLoop:
    """One turn, from its first question to the model to the answer that is taken, or to the last that it may ask."""

    def __init__(
        self, backend: Backend, log: TurnLog, tools: ToolRuns, settings: TurnSettings, phases: TurnPhases
    ) -> None:
        self._backend = backend
        self._log = log
        self._tools = tools
        self._settings = settings
        self._phases = phases
        self._answer = CompletionResponse("")
        self._problem: str | None = None
        self._repairs = 0

    async def run(self) -> AsyncGenerator[TurnEvent]:
        """What happens in the turn, its end last."""
        await self._move(ASSISTANT, "the model is asked", reason_code="prepared")
        for _ in range(self._settings.max_iterations):
            async with aclosing(self._ask()) as pieces:
                async for piece in pieces:
                    yield piece
            if self._problem is not None:
                following = self._repair(self._problem)
            elif self._answer.tool_calls:
                following = self._run_tools()
            else:
                following = self._review()
            async with aclosing(following) as events:
                async for event in events:
                    yield event
                    if isinstance(event, TurnEnded):
                        return
        await self._move(COMPLETION, "the model may be asked no more", reason_code=ITERATION_LIMIT)
        yield TurnEnded(self._answer.content, ITERATION_LIMIT)

    async def _ask(self) -> AsyncGenerator[str]:
        """Ask the model, and keep what it says; its words, in pieces if they come so."""
        answer: CompletionResponse | None = None
        passed_on = False
        async with aclosing(self._items(await self._log.prompt())) as items:
            async for item in items:
                if isinstance(item, CompletionResponse):
                    answer = item
                elif not self._settings.react:
                    passed_on = True
                    yield item
        if answer is None:
            raise ModelUnreachable("the model's stream ended without its answer")
        await self._log.count(answer)
        self._answer, self._problem = _read(answer) if self._settings.react else (answer, None)
        if self._answer.content and not passed_on:
            yield self._answer.content
        await self._log.add(PromptMessage(PromptRole.ASSISTANT, self._answer.content, self._answer.tool_calls))

    async def _items(self, prompt: Sequence[PromptMessage]) -> AsyncGenerator[str | CompletionResponse]:
        """What the model says, in pieces if they come so, and whole at last."""
        declared: list[Tool] = [] if self._settings.react else self._tools.declarations
        messages = react.as_text(prompt) if self._settings.react else list(prompt)
        if not self._settings.stream:
            yield await self._backend.complete(messages, declared, **self._settings.options)
            return
        stream: Any = self._backend.stream(messages, declared, **self._settings.options)
        async with aclosing(stream):
            async for item in stream:
                yield item

    async def _repair(self, problem: str) -> AsyncGenerator[TurnEvent]:
        """Ask for a message that can be read, a bounded number of times."""
        self._repairs += 1
        await self._move(REPAIR, problem, reason_code=UNREADABLE)
        if self._repairs > react.MAX_REPAIRS:
            await self._move(COMPLETION, "its messages cannot be read", reason_code=UNREADABLE)
            yield TurnEnded(self._answer.content, UNREADABLE)
            return
        await self._move(ASSISTANT, "the model is asked to repair it", kind=RETRY, reason_code=UNREADABLE)
        await self._tell(react.repair_request(problem))

    async def _run_tools(self) -> AsyncGenerator[TurnEvent]:
        calls = self._answer.tool_calls
        await self._move(TOOLS, ", ".join(call.name for call in calls), reason_code="tool_calls")
        if self._answer.content:
            yield BETWEEN
        for call in calls:
            yield ToolBegun(call)
            result = await self._tools.run(call)
            await self._log.ran(call, result)
            await self._log.add(PromptMessage(PromptRole.TOOL, result.text, tool_call_id=call.id))
            yield ToolEnded(call, result)
        await self._move(ASSISTANT, "the model is told what they gave", reason_code="tool_results")

    async def _review(self) -> AsyncGenerator[TurnEvent]:
        review = await self._log.review(self._answer.content)
        await self._move(review.phase, review.text, reason_code=review.code)
        if review.request is None:
            yield TurnEnded(self._answer.content, review.code)
            return
        await self._move(ASSISTANT, review.text, kind=review.kind, reason_code=review.code)
        await self._tell(review.request)
        if self._answer.content:
            yield BETWEEN

    async def _move(self, phase: str, text: str, *, reason_code: str, kind: str | None = None) -> None:
        """Go on to a phase, and have that kept."""
        self._phases.move(phase, text, reason_code=reason_code, kind=kind)
        await self._log.moved()

    async def _tell(self, request: str) -> None:
        """Tell the model what the runtime wants of it."""
        await self._log.add(runtime_message(request))


def _read(answer: CompletionResponse) -> tuple[CompletionResponse, str | None]:
    """An answer in the text protocol as one with tool calls, or as it came with what is wrong with it."""
    found = react.parse(answer.content)
    if found.problem is not None:
        return answer, found.problem
    if found.name is None:
        return CompletionResponse(found.words, usage=answer.usage), None
    call = ToolCall(f"react-{secrets.token_hex(6)}", found.name, dict(found.arguments or {}))
    return CompletionResponse(found.words, [call], answer.usage), None
