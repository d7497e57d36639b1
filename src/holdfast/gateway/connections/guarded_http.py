"""What both HTTP protocols do alike: a guard reads along, and what a client has yet to take is counted.

It stands before uvicorn's protocol among the bases of a class, and calls that one's methods.
"""

import asyncio
from collections.abc import Callable

from holdfast.gateway.connections.guard import Guard
from holdfast.gateway.connections.unsent_output import BUFFER, HTTP, ConnectionOutput
from holdfast.gateway.errors import TooSlow


class GuardedHttp(asyncio.Protocol):
    """A connection whose guard sees every part of a request."""

    kind = HTTP
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    timeout_keep_alive: int
    timeout_keep_alive_task: asyncio.TimerHandle | None
    timeout_keep_alive_handler: Callable[[], None]
    _guard: Guard
    _output: ConnectionOutput

    def rest(self) -> None:
        """Wait for the next request as after an answer."""
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(BUFFER)
        self._guard.opened()

    def connection_lost(self, exc: Exception | None) -> None:
        self._guard.left()
        self._output.unsent.leave(self._output)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Send no more for now."""
        super().pause_writing()
        self._output.unsent.pause(self._output, self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._output.unsent.resume(self._output)

    def cut(self, _reason: TooSlow) -> None:
        """End: in the midst of an answer there is nothing that can be said."""
        self.transport.abort()

    def abort(self) -> None:
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        self._guard.read(data, super().data_received)

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be parsed."""
        self._guard.refuse_syntax(msg)
