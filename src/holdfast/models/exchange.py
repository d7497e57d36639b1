"""An exchange with a model's endpoint, whatever API it speaks: tried again as far as that is safe, never cut short."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, Protocol

from holdfast.models.endpoint import Endpoint
from holdfast.models.messages import CompletionResponse
from holdfast.models.retries import Retries


class Gathered(Protocol):
    """The events of one stream, put together: `whole` once the model has said that it stops, `over` once nothing of
    interest follows."""

    @property
    def whole(self) -> bool:
        """Whether this is all of the answer."""
        ...

    @property
    def over(self) -> bool:
        """Whether to read no further."""
        ...

    def add(self, data: bytes) -> str:
        """The text that an event brings."""
        ...

    def response(self) -> CompletionResponse:
        """All of it."""
        ...


class Exchange:
    """One endpoint, asked."""

    def __init__(self, endpoint: Endpoint, retries: Retries | None) -> None:
        self._endpoint = endpoint
        self._retries = retries or Retries()

    async def complete(self, body: dict[str, Any], read: Callable[[bytes], CompletionResponse]) -> CompletionResponse:
        """The answer to a request; a ModelError if there is none."""

        async def attempt() -> CompletionResponse:
            return read(await self._endpoint.post(body))

        return await self._retries.complete(attempt)

    def stream(self, body: dict[str, Any], gather: Callable[[], Gathered]) -> AsyncIterator[str | CompletionResponse]:
        """The answer in pieces as they come, then all of it; a ModelError, never a short answer, if it is cut."""
        return self._retries.stream(lambda: self._pieces(body, gather()))

    async def _pieces(self, body: dict[str, Any], gathered: Gathered) -> AsyncGenerator[str | CompletionResponse]:
        async with aclosing(self._endpoint.events(body)) as events:
            async for data in events:
                piece = gathered.add(data)
                if piece:
                    yield piece
                if gathered.over:
                    break
        if not gathered.whole:
            raise self._endpoint.cut()
        yield gathered.response()
