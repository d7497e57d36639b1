"""Reads whose client hangs up while they are under way: they are ended.

The server does not tell a handler that its client has gone. Whoever only reads has then nothing left to do, so it is
cancelled, and with it whatever it waits for in the store. A write never is: it goes on, and its outcome is recorded.
An answer that has begun sees to its own end. Where a request's method says that it reads, a layer sees to this; where
only its body says so, whoever answers it does, with `WaitingClient`.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

READS = frozenset({"GET", "HEAD"})
PATIENCE_SECONDS = 0.05
"""A read that is answered sooner is not watched: most are."""


async def client_leaves(receive: Receive) -> None:
    """Return when the client goes."""
    while (await receive())["type"] != "http.disconnect":
        pass


class HangUps:
    """The layer that cancels reads that nobody waits for; nothing is read from the body of such a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in READS:
            await self._app(scope, receive, send)
            return
        reader = _Reader(WaitingClient(receive), send)
        try:
            with reader.client.watch():
                await self._app(scope, reader.receive, reader.send)
        except ClientDisconnect:
            if not reader.client.hung_up:
                raise


class WaitingClient:
    """Whoever waits for what the current task does; once `answering`, the task is left alone."""

    def __init__(self, receive: Receive) -> None:
        self.answering = False
        self.hung_up = False
        """Whether the task was cancelled because the client is gone."""
        self._receive = receive
        self._gone = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None
        task = asyncio.current_task()
        assert task is not None
        self._task = task

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Cancel what goes on within if the client goes; ClientDisconnect says so."""
        timer = self._task.get_loop().call_later(PATIENCE_SECONDS, self._begin)
        try:
            yield
        except asyncio.CancelledError:
            if not self.hung_up or self._task.uncancel():
                raise
            raise ClientDisconnect from None
        finally:
            timer.cancel()
            if self._watching is not None:
                self._watching.cancel()

    async def gone(self) -> None:
        """Return when the client is gone."""
        self._begin()
        await self._gone.wait()

    def _begin(self) -> None:
        if self._watching is None:
            self._watching = asyncio.create_task(self._until_gone())

    async def _until_gone(self) -> None:
        await client_leaves(self._receive)
        self._gone.set()
        if not self.answering:
            self.hung_up = True
            self._task.cancel()


class _Reader:
    """The connection of a waiting client, as whoever answers a read sees it."""

    def __init__(self, client: WaitingClient, send: Send) -> None:
        self.client = client
        self._send = send
        self._asked = False

    async def receive(self) -> Message:
        """The request without a body; from then on, that the client is gone, once it is."""
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.client.gone()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        self.client.answering = True
        await self._send(message)
