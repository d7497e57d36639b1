"""A model that says what it was told to say, and keeps what it was asked: for tests of whatever uses a model."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from holdfast.models.messages import CompletionResponse, PromptMessage, Tool

Stream = Iterable[str | CompletionResponse]


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of a model."""

    messages: list[PromptMessage]
    tools: list[Tool]
    streamed: bool
    temperature: float | None = None
    max_tokens: int | None = None


class ScriptedBackend:
    """Replays completions and streams in order; AssertionError when they run out.

    A stream is pieces of text and, if it is to say more than these, a response at its end. A script without streams
    streams its completions.
    """

    model = "scripted"

    def __init__(
        self,
        completions: Iterable[CompletionResponse] = (),
        streams: Iterable[Stream] = (),
        supports_native_tools: bool = True,
    ) -> None:
        self.supports_native_tools = supports_native_tools
        self.invocations: list[Invocation] = []
        self._completions = list(completions)
        self._streams = [list(stream) for stream in streams]
        self._has_streams = bool(self._streams)

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        tools: Sequence[Tool] = (),
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> CompletionResponse:
        """The next completion."""
        self.invocations.append(Invocation(list(messages), list(tools), False, temperature, max_tokens))
        return self._next_completion()

    async def stream(
        self,
        messages: Sequence[PromptMessage],
        tools: Sequence[Tool] = (),
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[str | CompletionResponse]:
        """The next stream, or the next completion as one."""
        self.invocations.append(Invocation(list(messages), list(tools), True, temperature, max_tokens))
        for item in self._next_stream():
            yield item

    def _next_completion(self) -> CompletionResponse:
        if not self._completions:
            raise AssertionError(f"the script has no completion for call {len(self.invocations)}")
        return self._completions.pop(0)

    def _next_stream(self) -> Stream:
        if not self._has_streams:
            response = self._next_completion()
            return chain([response.content] if response.content else [], [response])
        if not self._streams:
            raise AssertionError(f"the script has no stream for call {len(self.invocations)}")
        stream = self._streams.pop(0)
        if stream and isinstance(stream[-1], CompletionResponse):
            return stream
        return [*stream, CompletionResponse("".join(piece for piece in stream if isinstance(piece, str)))]
