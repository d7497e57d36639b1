"""uvicorn's protocol over h11, guarded: for machines that have no httptools."""

import asyncio
from typing import Any, cast

import h11
from starlette.types import ASGIApp
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from holdfast.gateway.connections.guard import Guard, RequestPart
from holdfast.gateway.connections.heads import head_fault, too_long
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.connections.pieces import InPieces
from holdfast.gateway.connections.unsent import BUFFER, HTTP, Outlet, Unsent
from holdfast.gateway.errors import TooSlow


class _Watched(h11.Connection):
    """h11's connection, whose guard sees every event before uvicorn does."""

    def __init__(self, guard: Guard, limits: ConnectionLimits) -> None:
        super().__init__(h11.SERVER, limits.max_header_bytes)
        self._guard = guard
        self._limits = limits

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next event; an error for a head that is refused."""
        guard = self._guard
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as error:
            if error.error_status_hint == 431:
                guard.fault = too_long(self._limits)
            raise
        if isinstance(event, h11.Request):
            version = event.http_version.decode("ascii")
            guard.fault = head_fault(self._limits, event.method, event.target, version, list(event.headers))
            if guard.fault is not None:
                raise h11.RemoteProtocolError("refused")
            guard.part = RequestPart.BODY
            guard.heads += 1
        elif isinstance(event, h11.Data):
            guard.body_bytes += len(event.data)
        elif isinstance(event, h11.EndOfMessage):
            guard.part = RequestPart.NOTHING
            guard.ends += 1
        return event


class WithH11(H11Protocol):
    """A connection whose guard sees every part of a request."""

    kind = HTTP
    queued = False

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
        unsent: Unsent,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._outlet = Outlet(unsent, self)
        self.app = InPieces(cast(ASGIApp, self.app), self._outlet)
        self._guard = Guard(self, limits)
        self.conn = _Watched(self._guard, limits)

    @property
    def unread(self) -> bool:
        """Whether a part of the next head is there already."""
        return bool(self.conn.trailing_data[0])

    def forget_newest(self) -> None:
        """Requests are not read before the one ahead of them is answered."""

    def rest(self) -> None:
        """Wait for the next request as after an answer."""
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(BUFFER)
        self._guard.opened()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._guard.left()
        self._outlet.unsent.leave(self._outlet)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Send no more for now."""
        super().pause_writing()
        self._outlet.unsent.pause(self._outlet, self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Send on."""
        super().resume_writing()
        self._outlet.unsent.resume(self._outlet)

    def cut(self, _reason: TooSlow) -> None:
        """End: in the midst of an answer there is nothing that can be said."""
        self.transport.abort()

    def abort(self) -> None:
        """End now."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        self._guard.read(data, super().data_received)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Become a WebSocket."""
        self._guard.left()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """An answer is whole."""
        super().on_response_complete()
        self._guard.answered()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be parsed."""
        self._guard.refuse_syntax(msg)

    def shutdown(self) -> None:
        """Stop as soon as what is under way is answered."""
        if self._guard.is_done:
            self.transport.close()
        else:
            super().shutdown()
