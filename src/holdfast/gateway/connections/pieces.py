"""Answers in pieces: however large a body is, its connection gets a little of it at a time.

What one request says is said in order: nothing comes between the pieces of a body, and nothing after a body that was
not sent to its end. The connection breaks then, so that no client takes a part for the whole.
"""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.core.errors import Busy
from holdfast.gateway.connections.unsent_output import PIECE, ConnectionOutput

UTF8 = "holdfast.utf8"
"""Where a `websocket.send` has the bytes of a text, which need not become a text first."""


class NoRoom(Exception):
    """Raised where an answer begins that there is no room for; it is no error of the application's own."""

    def __init__(self, refusal: Busy) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class PiecewiseApp:
    """The application as one connection has it."""

    def __init__(self, app: ASGIApp, output: ConnectionOutput) -> None:
        self._app = app
        self._output = output

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "HEAD":
            send = _Sending(self._output, scope["method"], receive, send)
        await self._app(scope, receive, send)


class _Sending:
    """The `send` of one request."""

    def __init__(self, output: ConnectionOutput, method: str, receive: Receive, send: Send) -> None:
        self._output = output
        self._reads = method == "GET"
        self._receive = receive
        self._send = send
        self._under_way = asyncio.Lock()
        self._torn = False

    async def __call__(self, message: Message) -> None:
        body = message.get("body", b"")
        if len(body) > PIECE or self._under_way.locked() or self._torn:
            async with self._under_way:
                await self._in_turn(message, body)
        else:
            if self._reads and message["type"] == "http.response.start":
                self._make_room(message)
            await self._send(message)

    def _make_room(self, start: Message) -> None:
        """See that the body of an answer finds room; NoRoom if it does not, and nothing was done but to read."""
        for name, value in start["headers"]:
            if name == b"content-length" and int(value) > PIECE:
                try:
                    self._output.unsent.make_room(int(value))
                except Busy as refusal:
                    raise NoRoom(refusal) from None

    async def _in_turn(self, message: Message, body: bytes) -> None:
        if self._torn:
            await self._break_off()
        elif len(body) <= PIECE:
            await self._send(message)
        else:
            unsent, output = self._output.unsent, self._output
            try:
                unsent.make_room(body)
            except Busy:
                unsent.turn_away(output, len(body))
                await self._break_off()
                return
            unsent.hold(output, body)
            self._torn = True
            try:
                await self._pieces(body, more=message.get("more_body", False))
            finally:
                unsent.release(output)
            self._torn = False

    async def _pieces(self, body: bytes, *, more: bool) -> None:
        output, view = self._output, memoryview(body)
        for at in range(0, len(body), PIECE):
            last = at + PIECE >= len(body)
            piece = view[at : at + PIECE]
            await self._send({"type": "http.response.body", "body": piece, "more_body": more or not last})
            if output.gone:
                return
            output.unsent.took(output, len(piece))

    async def _break_off(self) -> None:
        """End the connection, and return once the server knows it."""
        self._output.sink.abort()
        while (await self._receive())["type"] != "http.disconnect":
            pass
