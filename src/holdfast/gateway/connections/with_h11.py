"""uvicorn's protocol over h11, guarded: for machines that have no httptools."""

import asyncio
from typing import Any, cast

import h11
from starlette.types import ASGIApp
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from holdfast.gateway.connections.guard import Guard, RequestPart
from holdfast.gateway.connections.guarded_http import GuardedHttp
from holdfast.gateway.connections.heads import head_fault, too_long
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.connections.pieces import PiecewiseApp
from holdfast.gateway.connections.unsent_output import ConnectionOutput, UnsentOutput


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


class WithH11(GuardedHttp, H11Protocol):
    """A connection whose guard sees every part of a request."""

    queued = False

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
        self.app = PiecewiseApp(cast(ASGIApp, self.app), self._output)
        self._guard = Guard(self, limits)
        self.conn = _Watched(self._guard, limits)

    @property
    def unread(self) -> bool:
        """Whether a part of the next head is there already."""
        return bool(self.conn.trailing_data[0])

    def forget_newest(self) -> None:
        """Requests are not read before the one ahead of them is answered."""

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Become a WebSocket."""
        self._guard.left()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """An answer is whole."""
        super().on_response_complete()
        self._guard.answered()

    def shutdown(self) -> None:
        """Stop as soon as what is under way is answered."""
        if self._guard.is_done:
            self.transport.close()
        else:
            super().shutdown()
