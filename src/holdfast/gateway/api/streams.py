"""Answers that are sent while they are made: they end whole, or the connection breaks, and never in between.

A client that goes away, or a gateway that stops, ends the making as well.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from holdfast.core import HoldfastError
from holdfast.core.errors import Closing
from holdfast.core.race import first_of
from holdfast.http.hang_ups import client_leaves

log = logging.getLogger("holdfast.gateway")


class BodyStream(StreamingResponse):
    """An answer from a generator of bytes; `stopping` breaks it off."""

    def __init__(self, made: AsyncGenerator[bytes, None], media_type: str, stopping: asyncio.Event) -> None:
        super().__init__(made, media_type=media_type)
        self._made = made
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the end, the client's going, an error or the stop; a broken connection tells the last two."""
        sent, left, _ = await first_of(self.stream_response(send), client_leaves(receive), self._stopping.wait())
        if left is None:
            failure = Closing("the gateway is stopping") if sent is None else sent.exception()
            if isinstance(failure, HoldfastError):
                log.warning("%s %s was broken off: %s", scope["method"], scope["path"], failure)
            elif failure is not None:
                raise failure

    async def stream_response(self, send: Send) -> None:
        """Send all that is made; whatever happens, the making has ended with it."""
        async with aclosing(self._made):
            await super().stream_response(send)


async def begun(made: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The same generator with its first piece made already: what cannot even begin is a problem like any other."""
    try:
        first = [await anext(made)]
    except StopAsyncIteration:
        first = []

    async def whole() -> AsyncGenerator[bytes, None]:
        async with aclosing(made):
            while first:
                yield first.pop()  # and not held until the end
            async for piece in made:
                yield piece

    return whole()
