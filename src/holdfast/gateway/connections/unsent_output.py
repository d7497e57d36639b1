"""Output that clients have not taken yet: one budget for all connections of a gateway.

A large body is sent in pieces, the next when the client has taken those before it, and counts whole until its last
piece is on its way; the same bytes sent to many count once. What waits in a connection's own buffer counts too. When
all of it is more than the budget, the clients that are furthest behind a modest pace are cut; if nobody is behind, the
one that came last is turned away. Whoever is cut can ask again: a feed goes on after its cursor.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from holdfast.core.errors import Busy
from holdfast.gateway.errors import TooSlow

PIECE = 64 * 1024
"""What is given to a connection at once."""
BUFFER = 16 * 1024
"""What may wait in a connection's buffer before it gets no more."""
MOST_BYTES = 128_000_000
PACE = 64 * 1024
"""Bytes a second that a client takes which is never behind."""
BEHIND_SECONDS = 2.0

HTTP = "http"
WEBSOCKET = "websocket"

log = logging.getLogger("holdfast.gateway")


class CuttableConnection(Protocol):
    """The connection that some output belongs to."""

    kind: str
    client: tuple[str, int] | None

    def cut(self, reason: TooSlow) -> None:
        """End the connection, and say why if it can still be said."""

    def abort(self) -> None:
        """End the connection now."""


class ConnectionOutput:
    """What one connection has not sent yet."""

    __slots__ = ("body", "buffered", "even_at", "gone", "sink", "unsent")

    def __init__(self, unsent: "UnsentOutput", sink: CuttableConnection) -> None:
        self.unsent = unsent
        self.sink = sink
        self.body: bytes | None = None
        self.buffered = 0
        self.even_at = 0.0
        """When a client of the modest pace would have taken as much as this one."""
        self.gone = False


class UnsentOutput:
    """The account of one gateway; every method is called on its loop."""

    def __init__(
        self,
        most_bytes: int = MOST_BYTES,
        pace: int = PACE,
        behind_seconds: float = BEHIND_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cuts: Counter[str] = Counter()
        """Connections that were cut, by kind."""
        self.most_bytes = most_bytes
        self._pace = pace
        self._behind_seconds = behind_seconds
        self._clock = clock
        self._bytes = 0
        self._senders: Counter[int] = Counter()
        """How many connections send a body, by its identity."""
        self._waiting: set[ConnectionOutput] = set()

    @property
    def size(self) -> int:
        """The bytes that wait for clients now."""
        return self._bytes

    def make_room(self, body: bytes | int) -> None:
        """Have room for a body, or for so many bytes: whoever is behind is cut for it; Busy if that is not enough."""
        size = body if isinstance(body, int) else 0 if id(body) in self._senders else len(body)
        if size and not self._fits(size) and not self._cut_those_behind(size):
            raise Busy("clients have yet to take as much as fits into memory", retry_after=1)

    def hold(self, output: ConnectionOutput, body: bytes) -> None:
        """A connection begins to send a large body."""
        self._wait(output)
        output.body = body
        if not self._senders[id(body)]:
            self._bytes += len(body)
        self._senders[id(body)] += 1

    def took(self, output: ConnectionOutput, size: int) -> None:
        """The client has made room for a piece of this size."""
        output.even_at = min(self._clock(), output.even_at + size / self._pace)

    def release(self, output: ConnectionOutput) -> None:
        """The body is on its way, or given up."""
        body, output.body = output.body, None
        if body is not None:
            self._senders[id(body)] -= 1
            if not self._senders[id(body)]:
                del self._senders[id(body)]
                self._bytes -= len(body)
        self._settle(output)

    def pause(self, output: ConnectionOutput, buffered: int) -> None:
        """The connection's buffer is full."""
        if output.gone:
            return
        self._wait(output)
        self._bytes += buffered - output.buffered
        output.buffered = buffered
        if not self._fits(0):
            self._cut_those_behind(0)

    def resume(self, output: ConnectionOutput) -> None:
        """The connection's buffer is nearly empty."""
        self._bytes -= output.buffered
        output.buffered = 0
        self._settle(output)

    def leave(self, output: ConnectionOutput) -> None:
        """The connection is gone: what was to be sent on it is nobody's."""
        output.gone = True
        self.resume(output)
        self.release(output)

    def cut(self, output: ConnectionOutput) -> None:
        """End a connection whose client takes too little."""
        behind = self._clock() - output.even_at
        sink, body = output.sink, output.body
        self.leave(output)
        self.cuts[sink.kind] += 1
        fields = {
            "kind": sink.kind,
            "client": None if sink.client is None else sink.client[0],
            "behind_seconds": round(behind, 1),
            "body_bytes": 0 if body is None else len(body),
            "unsent_bytes": self._bytes,
        }
        log.warning("a client that took too little was cut", extra={"fields": fields})
        sink.cut(TooSlow("the client took too little, and others need the room", hint="go on after what you have"))

    def turn_away(self, output: ConnectionOutput, size: int) -> None:
        """Count a connection that has to end because there is no room for what it should send."""
        self.cuts[output.sink.kind] += 1
        fields = {"kind": output.sink.kind, "body_bytes": size, "unsent_bytes": self._bytes}
        log.warning("there was no room for an answer, and its connection was cut", extra={"fields": fields})

    def _fits(self, size: int) -> bool:
        return not self._bytes or self._bytes + size <= self.most_bytes

    def _cut_those_behind(self, size: int) -> bool:
        """Cut until so many bytes fit, beginning with who is furthest behind; whether they do."""
        latest = self._clock() - self._behind_seconds
        for output in sorted(self._waiting, key=lambda each: each.even_at):
            if output.even_at > latest:
                break
            self.cut(output)
            if self._fits(size):
                return True
        return False

    def _wait(self, output: ConnectionOutput) -> None:
        if output not in self._waiting:
            output.even_at = self._clock()
            self._waiting.add(output)

    def _settle(self, output: ConnectionOutput) -> None:
        if output.body is None and not output.buffered:
            self._waiting.discard(output)
