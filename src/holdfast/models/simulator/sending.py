"""How answers leave: whole, piece by piece in time, or cut in the middle."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.models.errors import ModelBusy

EVENTS = "text/event-stream"


class Pause:
    """Waits; ModelBusy if the service stops first."""

    def __init__(self, stopping: asyncio.Event) -> None:
        self._stopping = stopping

    async def __call__(self, seconds: float) -> None:
        """Wait for some seconds."""
        if not seconds:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return
        raise ModelBusy("the simulator stopped while it was thinking")


class CutResponse(Response):
    """Pieces of an answer after which the connection breaks: the client never sees its end."""

    def __init__(self, pieces: AsyncIterator[bytes], media_type: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces, and leave without a last one: the server then closes the connection."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})


def first_half(pieces: Sequence[bytes]) -> list[bytes]:
    """What is sent of an answer that is cut: of one that is whole, half of its bytes."""
    if len(pieces) == 1:
        return [pieces[0][: len(pieces[0]) // 2]]
    return list(pieces[: max(1, len(pieces) // 2)])
