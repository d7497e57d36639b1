"""Answers as they come: server-sent events, each of them a whole JSON-RPC answer to the one request.

A stream is never silent for longer than a heartbeat, so that it can be told from a dead connection. It ends with its
last answer, when the client goes, or when the server stops; whatever it tells of goes on without it.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

HEARTBEAT_SECONDS = 15.0
LAST_SECONDS = 1.0
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Nobody on the way keeps a stream, or holds it back to make larger pieces of it."""
HEARTBEAT = b": still here\n\n"

Answers = AsyncGenerator[dict[str, Any], None]
Refused = Callable[[], Coroutine[Any, Any, None]]


async def never() -> None:
    """For those who are told whatever comes."""
    await asyncio.Event().wait()


class AnswerStream(Response):
    """The answers to one request; `cut_off` is the last if the server stops before they have come to their end.

    `refused` returns when whoever asked may no longer be told; nothing more is said then.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        answers: Answers,
        *,
        stopping: asyncio.Event,
        cut_off: dict[str, Any],
        refused: Refused = never,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(HEADERS)
        self._answers = answers
        self._stopping = stopping
        self._cut_off = cut_off
        self._refused = refused
        self._heartbeat_seconds = heartbeat_seconds
        self._sent_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answers until they end, or nobody is there to take or to give them."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.create_task(self._send_all(send))
        beating = asyncio.create_task(self._beat(send))
        leaving = asyncio.create_task(_client_leaves(receive))
        refused = asyncio.create_task(self._refused())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({sending, leaving, refused, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if stopping.done() and not (sending.done() or leaving.done() or refused.done()):
                await asyncio.wait({sending, leaving}, timeout=LAST_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            silent, gone = sending.done() or refused.done(), leaving.done()
            for part in (sending, beating, leaving, refused, stopping):
                part.cancel()
            await asyncio.gather(sending, beating, leaving, refused, stopping, return_exceptions=True)
        if not gone:
            await _finish(send, b"" if silent else event(self._cut_off))

    async def _send_all(self, send: Send) -> None:
        async with aclosing(self._answers) as answers:
            async for answer in answers:
                await self._say(send, event(answer))

    async def _beat(self, send: Send) -> None:
        """Whenever nothing was sent for so long, say that the stream lives."""
        loop = asyncio.get_running_loop()
        self._sent_at = loop.time()
        while True:
            rest = self._sent_at + self._heartbeat_seconds - loop.time()
            if rest > 0:
                await asyncio.sleep(rest)
            else:
                await self._say(send, HEARTBEAT)

    async def _say(self, send: Send, said: bytes) -> None:
        """Send whole events, once the client has taken enough of those before."""
        await send({"type": "http.response.body", "body": said, "more_body": True})
        self._sent_at = asyncio.get_running_loop().time()


def event(answer: dict[str, Any]) -> bytes:
    """An answer as an event, all but ASCII escaped: some clients take more characters for line ends than SSE does."""
    return b"data: " + json.dumps(answer, allow_nan=False, separators=(",", ":")).encode() + b"\n\n"


async def _client_leaves(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _finish(send: Send, last: bytes) -> None:
    try:
        async with asyncio.timeout(LAST_SECONDS):
            await send({"type": "http.response.body", "body": last})
    except TimeoutError:
        return  # a client that takes nothing goes without
