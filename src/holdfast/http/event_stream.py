"""Server-sent events as an answer: never silent for longer than a heartbeat, and left as soon as the client leaves.

So a stream can be told from a dead connection, and one that nobody takes holds up nobody. Whatever a stream tells of
goes on without it.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.core.race import first_of
from holdfast.http.hang_ups import client_leaves
from holdfast.http.server_sent_events import EVENTS, HEARTBEAT, ascii_event

HEARTBEAT_SECONDS = 15.0
LAST_SECONDS = 1.0
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Nobody on the way keeps a stream, or holds it back to make larger pieces of it."""

Answers = AsyncGenerator[dict[str, Any], None]
Refusal = Callable[[], Coroutine[Any, Any, None]]


async def never() -> None:
    """For those who are told whatever comes."""
    await asyncio.Event().wait()


class EventStream(Response):
    """What such answers have in common; what they say, and when they end, is theirs."""

    media_type = EVENTS

    def __init__(self, heartbeat_seconds: float = HEARTBEAT_SECONDS) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(HEADERS)
        self._heartbeat_seconds = heartbeat_seconds
        self._sent_at = 0.0

    async def begin(self, send: Send) -> None:
        """Send the head."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        self._sent_at = asyncio.get_running_loop().time()

    async def say(self, send: Send, events: bytes) -> None:
        """Send whole events, once the client has taken enough of those before."""
        await send({"type": "http.response.body", "body": events, "more_body": True})
        self._sent_at = asyncio.get_running_loop().time()

    @asynccontextmanager
    async def heartbeat(self, send: Send) -> AsyncIterator[None]:
        """Meanwhile, whenever nothing was sent for so long, say that the stream lives."""
        beats = asyncio.create_task(self._beat(send))
        try:
            yield
        finally:
            beats.cancel()

    async def finish(self, send: Send, last: bytes) -> None:
        """Send what is last; a client that takes nothing goes without."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await send({"type": "http.response.body", "body": last})

    async def _beat(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        while True:
            rest = self._sent_at + self._heartbeat_seconds - loop.time()
            if rest > 0:
                await asyncio.sleep(rest)
            else:
                await self.say(send, HEARTBEAT)


class AnswerStream(EventStream):
    """Answers to one request, each of them an event; `cut_off` is the last if the server stops before their end.

    `refused` returns when the caller may no longer be told; nothing more is said then.
    """

    def __init__(
        self,
        answers: Answers,
        *,
        stopping: asyncio.Event,
        cut_off: dict[str, Any],
        refused: Refusal = never,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        super().__init__(heartbeat_seconds)
        self._answers = answers
        self._stopping = stopping
        self._cut_off = cut_off
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answers until they end, or nobody is there to take or to give them."""
        await self.begin(send)
        async with self.heartbeat(send):
            sent, left, refused, _ = await first_of(
                self._send_all(send), client_leaves(receive), self._refused(), self._stop()
            )
        if left is None:
            await self.finish(send, ascii_event(self._cut_off) if sent is None and refused is None else b"")

    async def _stop(self) -> None:
        """Return when the server stops, a moment later: the last answers may be about to come."""
        await self._stopping.wait()
        await asyncio.sleep(LAST_SECONDS)

    async def _send_all(self, send: Send) -> None:
        async with aclosing(self._answers) as answers:
            async for answer in answers:
                await self.say(send, ascii_event(answer))
