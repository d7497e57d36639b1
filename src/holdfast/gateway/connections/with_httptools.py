"""uvicorn's protocol over httptools, guarded.

httptools has no limit of its own, and takes what stands after a body for more headers of the request: both are seen
to here. When a connection ends, uvicorn tells the request that came last; the one that is being answered, if others
wait behind it, hears of it here.
"""

import asyncio
from typing import Any, cast

from starlette.types import ASGIApp
from uvicorn import Config
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from holdfast.gateway.connections.guard import Guard, RequestPart
from holdfast.gateway.connections.guarded_http import GuardedHttp
from holdfast.gateway.connections.heads import head_fault
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.connections.pieces import PiecewiseApp
from holdfast.gateway.connections.unsent_output import ConnectionOutput, UnsentOutput
from holdfast.gateway.errors import BadRequest


class RefusedRequest(Exception):
    """Stops the parser; the guard knows why."""


class _Dropped(list[tuple[bytes, bytes]]):
    """Where headers go that come too late."""

    def append(self, header: tuple[bytes, bytes]) -> None:
        """Forget it."""


class WithHttptools(GuardedHttp, HttpToolsProtocol):
    """A connection whose guard sees every part of a request."""

    unread = False

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
        self._limits = limits
        self._guard = Guard(self, limits)
        self._answering: RequestResponseCycle | None = None

    @property
    def queued(self) -> bool:
        """Whether requests wait for the one that is being answered."""
        return bool(self.pipeline)

    def forget_newest(self) -> None:
        """Do not answer the request that came last of those that wait."""
        self.pipeline.popleft()

    def connection_lost(self, exc: Exception | None) -> None:
        answering = self._answering
        if answering is not None and not answering.response_complete:
            answering.disconnected = True
            answering.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def handle_websocket_upgrade(self) -> None:
        """Become a WebSocket."""
        self._guard.left()
        super().handle_websocket_upgrade()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._guard.part = RequestPart.HEAD
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head is whole: it is refused, or the request begins."""
        guard = self._guard
        guard.fault = head_fault(
            self._limits, self.parser.get_method(), self.url, self.parser.get_http_version(), self.headers
        )
        if guard.fault is None and len(self.pipeline) >= self._limits.max_queued:
            guard.fault = BadRequest(f"more than {self._limits.max_queued} requests before their answers")
        if guard.fault is not None:
            raise RefusedRequest
        super().on_headers_complete()
        guard.part = RequestPart.BODY
        guard.heads += 1
        if not self.parser.should_upgrade():
            self.headers = _Dropped()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._guard.body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        self._guard.part = RequestPart.NOTHING
        self._guard.ends += 1
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer is whole; the guard hears of the last of those that were waited for."""
        more = self.queued
        super().on_response_complete()
        if not more:
            self._guard.answered()

    def shutdown(self) -> None:
        """Stop as soon as what is under way is answered."""
        if self._guard.is_done:
            self.transport.close()
        else:
            super().shutdown()
