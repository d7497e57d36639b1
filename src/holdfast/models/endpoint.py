"""A model's endpoint over HTTP: a body is posted, and a document or a stream of server-sent events comes back.

It keeps no connection between calls, so one endpoint serves any number of event loops and needs no closing. An exchange
with it, whatever API it speaks, is tried again as far as that is safe, and never cut short.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from holdfast.core import strict_json
from holdfast.core.retry import asked_pause
from holdfast.http.server_sent_events import EVENTS, EventReader, LineTooLong
from holdfast.models.errors import ModelAnswerUnreadable, ModelBusy, ModelRefused, ModelUnreachable
from holdfast.models.messages import CompletionResponse
from holdfast.models.retries import BUSY, Retries

if TYPE_CHECKING:
    import ssl

    import httpx2


@dataclass(frozen=True)
class Endpoint:
    """Where to post, with which headers."""

    url: str
    headers: dict[str, str]
    timeout: float

    async def post(self, body: dict[str, Any]) -> bytes:
        """The document that comes back."""
        async with self._answer(body) as response:
            return await response.aread()

    async def events(self, body: dict[str, Any]) -> AsyncGenerator[bytes]:
        """The data of each event that comes back, until the connection ends; whether all came, the caller knows."""
        async with self._answer(body) as response:
            kind = response.headers.get("content-type", "")
            if not kind.startswith(EVENTS):
                start = (await response.aread())[:200].decode(errors="replace")
                raise ModelAnswerUnreadable(f"not a stream of events but {kind or 'something'}: {start}")
            events = EventReader()
            async for chunk in response.aiter_bytes():
                try:
                    found = list(events.feed(chunk))
                except LineTooLong as error:
                    raise ModelAnswerUnreadable(str(error)) from None
                for data in found:
                    yield data

    def cut(self) -> ModelUnreachable:
        """What to raise if the events ended before the answer did."""
        return ModelUnreachable(f"the answer from {self.url} was cut")

    @asynccontextmanager
    async def _answer(self, body: dict[str, Any]) -> AsyncIterator["httpx2.Response"]:
        """A response that succeeds, while it lasts; a ModelError for all that goes wrong with it."""
        import httpx2

        headers = {"content-type": "application/json", **self.headers}
        try:
            async with (
                httpx2.AsyncClient(verify=self._tls, timeout=self.timeout) as client,
                client.stream("POST", self.url, content=strict_json.dump(body), headers=headers) as response,
            ):
                if not response.is_success:
                    await response.aread()
                    raise _refusal(response)
                yield response
        except (httpx2.TransportError, httpx2.InvalidURL, httpx2.DecodingError) as error:
            said = str(error) or type(error).__name__
            timed_out = isinstance(error, httpx2.ReadTimeout)
            raise ModelUnreachable(f"no answer from {self.url}: {said}", timed_out=timed_out) from error

    @cached_property
    def _tls(self) -> "ssl.SSLContext":
        # Loading the certificates takes 30 ms: once per endpoint, not once per call.
        import httpx2

        return httpx2.create_ssl_context()


class StreamedAnswer(Protocol):
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

    def stream(
        self, body: dict[str, Any], gather: Callable[[], StreamedAnswer]
    ) -> AsyncIterator[str | CompletionResponse]:
        """The answer in pieces as they come, then all of it; a ModelError, never a short answer, if it is cut."""
        return self._retries.stream(lambda: self._pieces(body, gather()))

    async def _pieces(self, body: dict[str, Any], gathered: StreamedAnswer) -> AsyncGenerator[str | CompletionResponse]:
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


def _refusal(response: "httpx2.Response") -> ModelBusy | ModelRefused:
    said = f"the model's endpoint answered {response.status_code}: {response.text[:500]}"
    status, seconds = response.status_code, asked_pause(response.headers.get("retry-after"))
    kind = ModelBusy if status in BUSY else ModelRefused
    return kind(said, model_status=status, retry_after=None if seconds is None else round(seconds))
