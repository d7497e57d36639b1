"""uvicorn's WebSocket protocol, guarded: a feed needs nothing from its client but that it listens.

A client may send a little, and answer pings. One that sends more frames than its rate is closed with 1008, one whose
message is too large with 1009, one that takes too little while others need the room with 4408. A handshake that fails
is answered with a problem, like every other request.
"""

import asyncio
import logging
from http import HTTPStatus
from typing import Any

from uvicorn import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.datastructures import Headers
from websockets.exceptions import InvalidState
from websockets.http11 import Response
from websockets.protocol import Event
from websockets.server import ServerProtocol

from holdfast.core import HoldfastError, strict_json
from holdfast.core.problem import MEDIA_TYPE, problem
from holdfast.gateway.connections.guard import raw_answer
from holdfast.gateway.connections.headers import HEADERS
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.connections.pieces import UTF8
from holdfast.gateway.connections.unsent_output import BUFFER, PIECE, WEBSOCKET, ConnectionOutput, UnsentOutput
from holdfast.gateway.errors import BadRequest, NoRoute, TooSlow, Unexpected

FLOOD = 1008
CUT = 4408
"""The client took too little, while others needed the room."""
READ_AT_ONCE = 4096
"""Bytes that are parsed before the frames in them are counted."""
MOST_FRAGMENTS = 1_000


class _Counting(ServerProtocol):
    """websockets' own protocol; it counts frames, and refuses with problems."""

    def __init__(self, limits: ConnectionLimits) -> None:
        super().__init__(max_size=limits.max_frame, logger=logging.getLogger("uvicorn.error"))
        self.received = 0

    def events_received(self) -> list[Event]:
        """What came, counted."""
        events = super().events_received()
        self.received += len(events)
        return events

    def reject(self, status: Any, text: str) -> Response:
        """A refusal of the handshake; without a text it is the application's, which serves nothing there."""
        error: HoldfastError = BadRequest(text.strip(), hint="see RFC 6455, section 4.1")
        if not text:
            error = NoRoute("there is no WebSocket at this path")
        elif status >= 500:
            error = Unexpected("something went wrong inside the gateway")
        body = strict_json.dump(problem(error))
        headers = Headers([(name.decode(), value.decode()) for name, value in HEADERS])
        headers["Connection"] = "close"
        headers["Content-Type"] = MEDIA_TYPE
        headers["Content-Length"] = str(len(body))
        return Response(error.status, HTTPStatus(error.status).phrase, headers, body)


class WithWebsockets(WebSocketsSansIOProtocol):
    """A connection that counts what its client sends, and what it has yet to take."""

    kind = WEBSOCKET

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
        unsent: UnsentOutput,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._output = ConnectionOutput(unsent, self)
        self.conn: _Counting = _Counting(limits)
        self._limits = limits
        self._done_at = 0.0
        self._deaf = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(BUFFER)

    def connection_lost(self, exc: Exception | None) -> None:
        self._output.unsent.leave(self._output)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Send no more for now."""
        super().pause_writing()
        self._output.unsent.pause(self._output, self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._output.unsent.resume(self._output)

    def cut(self, reason: TooSlow) -> None:
        """End, and say why to a client that reads on within a few seconds."""
        if self.handshake_complete and not self.close_sent:
            self.conn.fail(CUT, reason.message)
            self.handle_parser_exception()
            self.writable.set()
        else:
            self.transport.abort()

    def abort(self) -> None:
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read on, a piece at a time."""
        for at in range(0, len(data), READ_AT_ONCE):
            if self._deaf:
                return
            super().data_received(data[at : at + READ_AT_ONCE])
            self._check()

    async def send(self, message: Any) -> None:
        """Send; a refusal that is whole completes the handshake as much as a consent."""
        if UTF8 in message:
            await self._send_text(message[UTF8])
            return
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    async def _send_text(self, body: bytes) -> None:
        """Send a message; a large one in several frames, each when the client has taken those before."""
        if len(body) <= PIECE:
            await self._send_frame(body, first=True, last=True)
            return
        unsent, output, view = self._output.unsent, self._output, memoryview(body)
        unsent.hold(output, body)
        try:
            for at in range(0, len(body), PIECE):
                await self._send_frame(view[at : at + PIECE], first=at == 0, last=at + PIECE >= len(body))
                unsent.took(output, PIECE)
        finally:
            unsent.release(output)

    async def _send_frame(self, data: bytes | memoryview, *, first: bool, last: bool) -> None:
        await self.writable.wait()
        if self.disconnected or self.close_sent:
            raise ClientDisconnected
        try:
            if first:
                self.conn.send_text(data, fin=last)
            else:
                self.conn.send_continuation(data, fin=last)
        except InvalidState:
            raise ClientDisconnected from None
        self.transport.write(b"".join(self.conn.data_to_send()))

    def handle_parser_exception(self) -> None:
        """Say why the connection ends, and give the client time to read it."""
        close = self.conn.close_sent
        if close is not None:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": close.code, "reason": close.reason})
        self.close_sent = self.disconnected = True
        self._linger(b"".join(self.conn.data_to_send()))

    def _check(self) -> None:
        conn = self.conn
        if self._deaf:
            return
        if not self.handshake_initiated:
            if conn.handshake_exc is not None:
                error = BadRequest(f"not a WebSocket handshake: {conn.handshake_exc}")
                self._linger(raw_answer(error, self.default_headers))
            return
        now, rate = self.loop.time(), self._limits.frames
        self._done_at = rate.done_at(self._done_at, now, conn.received)
        conn.received = 0
        if rate.wait(self._done_at, now) > 0 or len(self.frames) > MOST_FRAGMENTS:
            conn.fail(FLOOD, "a feed needs nothing from its client")
            self.handle_parser_exception()

    def _linger(self, last_words: bytes) -> None:
        if self._deaf or self.transport.is_closing():
            return
        self._deaf = True
        self.transport.write(last_words)
        self.transport.write_eof()
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(self._limits.linger_seconds, self.transport.abort)
