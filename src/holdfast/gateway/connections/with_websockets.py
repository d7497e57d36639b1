"""uvicorn's WebSocket protocol, guarded: a feed needs nothing from its client but that it listens.

A client may send a little, and answer pings. One that sends more frames than its rate is closed with 1008, one whose
message is too large with 1009. A handshake that fails is answered with a problem, like every other request.
"""

import asyncio
import logging
from http import HTTPStatus
from typing import Any

from uvicorn import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.datastructures import Headers
from websockets.http11 import Response
from websockets.protocol import Event
from websockets.server import ServerProtocol

from holdfast.core import HoldfastError, strict_json
from holdfast.core.problem import MEDIA_TYPE, problem
from holdfast.gateway.connections.guard import raw_answer
from holdfast.gateway.connections.headers import HEADERS
from holdfast.gateway.connections.limits import Limits
from holdfast.gateway.errors import BadRequest, NoRoute, Unexpected

FLOOD = 1008
PIECE = 4096
"""Bytes that are parsed before the frames in them are counted."""
MOST_FRAGMENTS = 1_000


class _Counting(ServerProtocol):
    """websockets' own protocol; it counts frames, and refuses with problems."""

    def __init__(self, limits: Limits) -> None:
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
    """A connection that counts what its client sends."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: Limits,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn: _Counting = _Counting(limits)
        self._limits = limits
        self._done_at = 0.0
        self._deaf = False

    def data_received(self, data: bytes) -> None:
        """Read on, a piece at a time."""
        for at in range(0, len(data), PIECE):
            if self._deaf:
                return
            super().data_received(data[at : at + PIECE])
            self._check()

    async def send(self, message: Any) -> None:
        """Send; a refusal that is whole completes the handshake as much as a consent."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

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
