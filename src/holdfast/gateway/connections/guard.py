"""The guard of one connection: how long it waits for what a client has begun, and how it says no.

A request is either passed on whole or refused before anything is done for it. Whoever is refused gets the reason as
an answer, and the time to read it: what it goes on sending is thrown away for a few seconds, since closing at once
would make the kernel throw the answer away instead. An answer that is under way is never mixed with a refusal.
"""

import asyncio
from collections.abc import Callable, Collection
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING

from holdfast.core import HoldfastError, strict_json
from holdfast.core.loopback import is_loopback
from holdfast.core.problem import MEDIA_TYPE, problem
from holdfast.core.retry import retry_after
from holdfast.gateway.connections.headers import HEADERS
from holdfast.gateway.connections.heads import too_long
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.connections.rates import network_of
from holdfast.gateway.errors import BadRequest, TooManyConnections, TooSlow

if TYPE_CHECKING:
    from holdfast.gateway.connections.with_h11 import WithH11
    from holdfast.gateway.connections.with_httptools import WithHttptools

POLITE = 64
"""Connections above the limit that are told why; yet others are just closed."""


class RequestPart(Enum):
    """What of a request is being read."""

    NOTHING = 0
    HEAD = 1
    BODY = 2


class Guard:
    """Watches what the connection reads: the protocol sets `part` and counts as it parses."""

    def __init__(self, protocol: "WithHttptools | WithH11", limits: ConnectionLimits) -> None:
        self.part = RequestPart.NOTHING
        self.heads = 0
        self.ends = 0
        self.body_bytes = 0
        self.fault: HoldfastError | None = None
        """Why the parser was stopped, if it was us who stopped it."""
        self._protocol = protocol
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None
        self._waiting_for: RequestPart | None = None
        self._over_limit: HoldfastError | None = None
        self._deaf = False
        self._last = False
        self._head_bytes = 0
        self._bare_bytes = 0
        self._window_start = 0
        self._held_up = False

    def opened(self) -> None:
        """A connection begins: it is one too many, or has to say something soon."""
        protocol = self._protocol
        if len(protocol.connections) > self._limits.max_connections + POLITE:
            protocol.transport.abort()
            return
        self._over_limit = crowding(self._limits, protocol.client, protocol.connections)
        self._wait(self._limits.header_seconds, protocol.transport.close)

    def left(self) -> None:
        """The connection is gone, or has become a WebSocket."""
        self._deaf = True
        self._stop_waiting()

    def read(self, data: bytes, parse: Callable[[bytes], None]) -> None:
        """Have what came parsed, unless the connection was refused; then see what is still missing."""
        if self._deaf:
            return
        if self._over_limit is not None:
            self.refuse(self._over_limit)
            return
        before = (self.heads, self.ends, self.body_bytes)
        parse(data)
        self._see(len(data), *before)

    def answered(self) -> None:
        """An answer went out: the last one, or one that did not wait for its request's end, or one like others."""
        if self._last:
            self._linger()
        elif self._protocol.unread and self._is_idle():
            self._await_head(begun=True)
        elif self.part is RequestPart.BODY and self._is_idle() and not self._deaf:
            self._wait(self._limits.linger_seconds, self._protocol.transport.close)

    def refuse_syntax(self, reason: str) -> None:
        """The parser has given up, because of us or by itself."""
        self.refuse(self.fault or BadRequest(reason))

    def refuse(self, error: HoldfastError) -> None:
        """Read no more; finish the answers to earlier requests, or else answer this one with the error."""
        protocol, cycle = self._protocol, self._protocol.cycle
        self._stop_waiting()
        self._deaf = True
        if protocol.queued or (self.part is not RequestPart.BODY and not self._is_idle()):
            self._last = True
            if self.part is RequestPart.BODY:
                protocol.forget_newest()
            return
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                protocol.transport.abort()
                return
        protocol.transport.write(raw_answer(error, protocol.server_state.default_headers))
        self._linger()

    def _see(self, size: int, heads: int, ends: int, body_bytes: int) -> None:
        """Wait for the rest of what has begun, given the counts from before these bytes."""
        if self._deaf:
            return
        if self.part is RequestPart.BODY:
            progress = self.heads > heads or self.body_bytes > body_bytes
            self._bare_bytes = 0 if progress else self._bare_bytes + size
            self._await_body(begun=self.heads > heads)
        elif self.part is RequestPart.NOTHING and self.ends > ends:
            self._stop_waiting()
            if self._is_idle():
                self._protocol.rest()
        elif self.part is RequestPart.HEAD or self._is_idle():
            self._head_bytes = 0 if self.ends > ends else self._head_bytes + size
            self._await_head(begun=self.ends > ends)

    @property
    def is_done(self) -> bool:
        """Whether only the client's reading of a refusal is waited for."""
        return self._deaf and not self._last

    def _await_head(self, *, begun: bool) -> None:
        if self._head_bytes > self._limits.max_header_bytes:
            self.refuse(too_long(self._limits))
        elif begun or self._waiting_for is not RequestPart.HEAD:
            self._wait(self._limits.header_seconds, self._head_is_late, RequestPart.HEAD)

    def _head_is_late(self) -> None:
        if self._protocol.flow.read_paused:
            self._wait(self._limits.header_seconds, self._head_is_late, RequestPart.HEAD)
        else:
            self.refuse(TooSlow(f"the head was not there after {self._limits.header_seconds:g} s"))

    def _await_body(self, *, begun: bool) -> None:
        self._held_up = self._held_up or self._protocol.flow.read_paused
        if self._bare_bytes > self._limits.max_header_bytes:
            self.refuse(too_long(self._limits))
        elif self._is_idle():
            pass
        elif begun or self._waiting_for is not RequestPart.BODY:
            self._open_window()

    def _open_window(self) -> None:
        self._window_start = self.body_bytes
        self._held_up = self._protocol.flow.read_paused
        self._wait(self._limits.body_seconds, self._window_ends, RequestPart.BODY)

    def _window_ends(self) -> None:
        """See whether enough of the body came; what we ourselves held up is not the client's fault."""
        limits, flow, cycle = self._limits, self._protocol.flow, self._protocol.cycle
        ours = self._held_up or flow.read_paused or (cycle is not None and cycle.waiting_for_100_continue)
        if ours or self.body_bytes - self._window_start >= limits.body_seconds * limits.body_rate:
            self._open_window()
        else:
            self.refuse(TooSlow(f"the body came slower than {limits.body_rate} bytes a second"))

    def _is_idle(self) -> bool:
        """Whether every request so far was answered."""
        cycle = self._protocol.cycle
        return cycle is None or cycle.response_complete

    def _linger(self) -> None:
        transport = self._protocol.transport
        if transport.is_closing():
            return
        transport.write_eof()
        self._protocol.flow.resume_reading()
        self._wait(self._limits.linger_seconds, transport.abort)

    def _wait(self, seconds: float, then: Callable[[], None], waiting_for: RequestPart | None = None) -> None:
        self._stop_waiting()
        self._waiting_for = waiting_for
        self._timer = self._protocol.loop.call_later(seconds, then)

    def _stop_waiting(self) -> None:
        self._waiting_for = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def crowding(
    limits: ConnectionLimits, client: tuple[str, int] | None, connections: Collection[object]
) -> HoldfastError | None:
    """Why there is no room for this client, itself among the connections already; None if there is."""
    if len(connections) > limits.max_connections:
        return TooManyConnections(f"there are {limits.max_connections} connections already", retry_after=1)
    most = limits.max_of_an_address
    if len(connections) > most and client is not None and not is_loopback(client[0]):
        network = network_of(client[0])
        others = [getattr(each, "client", None) for each in connections]
        if sum(other is not None and network_of(other[0]) == network for other in others) > most:
            return TooManyConnections(f"there are {most} connections from {network} already", retry_after=1)
    return None


def raw_answer(error: HoldfastError, default_headers: list[tuple[bytes, bytes]]) -> bytes:
    """An error as the bytes of the last answer on a connection."""
    body = strict_json.encode(problem(error))
    headers = [
        *default_headers,
        *HEADERS,
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    seconds = retry_after(error)
    if seconds is not None:
        headers.append((b"retry-after", b"%d" % seconds))
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    return b"HTTP/1.1 %d %b\r\n%b\r\n%b" % (error.status, HTTPStatus(error.status).phrase.encode(), lines, body)
