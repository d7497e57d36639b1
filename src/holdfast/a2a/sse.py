"""Answers as they come: server-sent events, each of them a whole JSON-RPC answer to the one request.

A stream ends with its last answer, when the client goes, or when the server stops; whatever it tells of goes on without
it.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from starlette.types import Receive, Scope, Send

from holdfast.http.event_stream import HEARTBEAT_SECONDS, LAST_SECONDS, EventStream, client_leaves

Answers = AsyncGenerator[dict[str, Any], None]
Refused = Callable[[], Coroutine[Any, Any, None]]


async def never() -> None:
    """For those who are told whatever comes."""
    await asyncio.Event().wait()


class AnswerStream(EventStream):
    """The answers to one request; `cut_off` is the last if the server stops before they have come to their end.

    `refused` returns when whoever asked may no longer be told; nothing more is said then.
    """

    def __init__(
        self,
        answers: Answers,
        *,
        stopping: asyncio.Event,
        cut_off: dict[str, Any],
        refused: Refused = never,
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
        sending = asyncio.create_task(self._send_all(send))
        beating = asyncio.create_task(self.beat(send))
        leaving = asyncio.create_task(client_leaves(receive))
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
            await self.finish(send, b"" if silent else event(self._cut_off))

    async def _send_all(self, send: Send) -> None:
        async with aclosing(self._answers) as answers:
            async for answer in answers:
                await self.say(send, event(answer))


def event(answer: dict[str, Any]) -> bytes:
    """An answer as an event, all but ASCII escaped: some clients take more characters for line ends than SSE does."""
    return b"data: " + json.dumps(answer, allow_nan=False, separators=(",", ":")).encode() + b"\n\n"
