"""Server-sent events as an answer: never silent for longer than a heartbeat, and left as soon as the client leaves.

So a stream can be told from a dead connection, and one that nobody takes holds up nobody.
"""

import asyncio
from contextlib import suppress

from starlette.responses import Response
from starlette.types import Receive, Send

EVENTS = "text/event-stream"
HEARTBEAT_SECONDS = 15.0
LAST_SECONDS = 1.0
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Nobody on the way keeps a stream, or holds it back to make larger pieces of it."""
HEARTBEAT = b": still here\n\n"


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

    async def say(self, send: Send, said: bytes) -> None:
        """Send whole events, once the client has taken enough of those before."""
        await send({"type": "http.response.body", "body": said, "more_body": True})
        self._sent_at = asyncio.get_running_loop().time()

    async def beat(self, send: Send) -> None:
        """Whenever nothing was sent for so long, say that the stream lives; for ever."""
        loop = asyncio.get_running_loop()
        while True:
            rest = self._sent_at + self._heartbeat_seconds - loop.time()
            if rest > 0:
                await asyncio.sleep(rest)
            else:
                await self.say(send, HEARTBEAT)

    async def finish(self, send: Send, last: bytes) -> None:
        """Send what is last; a client that takes nothing goes without."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await send({"type": "http.response.body", "body": last})


async def client_leaves(receive: Receive) -> None:
    """Return when the client goes."""
    while (await receive())["type"] != "http.disconnect":
        pass
