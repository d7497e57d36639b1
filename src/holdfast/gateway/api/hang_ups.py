"""The layer that notices a client that hangs up while its read is under way, and ends the read.

The server does not tell a handler that its client has gone. Whoever only reads has then nothing left to do, so it is
cancelled, and with it whatever it waits for in the store. A write never is: it goes on, and its outcome is recorded.
An answer that has begun sees to its own end.
"""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

READS = frozenset({"GET", "HEAD"})
PATIENCE_SECONDS = 0.05
"""A read that is answered sooner is not watched: most are."""


class HangUps:
    """Cancels reads that nobody waits for; nothing is read from the body of such a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in READS:
            await self._app(scope, receive, send)
            return
        client = Client(receive, send)
        try:
            await self._app(scope, client.receive, client.send)
        except asyncio.CancelledError:
            if not client.cancelled or client.handler.uncancel():
                raise
        finally:
            client.leave()


class Client:
    """Whoever waits for an answer, as the handler sees it."""

    def __init__(self, receive: Receive, send: Send) -> None:
        handler = asyncio.current_task()
        assert handler is not None
        self.handler = handler
        self.cancelled = False
        """Whether the handler was cancelled because the client is gone."""
        self._receive = receive
        self._send = send
        self._asked = False
        self._answering = False
        self._gone = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None
        self._timer = handler.get_loop().call_later(PATIENCE_SECONDS, self._watch)

    async def receive(self) -> Message:
        """The request without a body; from then on, that the client is gone, once it is."""
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        self._watch()
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        self._answering = True
        await self._send(message)

    def leave(self) -> None:
        """Watch no longer."""
        self._timer.cancel()
        if self._watching is not None:
            self._watching.cancel()

    def _watch(self) -> None:
        if self._watching is None:
            self._watching = asyncio.create_task(self._until_gone())

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone.set()
        if not self._answering:
            self.cancelled = True
            self.handler.cancel()
