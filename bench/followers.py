"""Many live subscribers in one process: raw sockets, and no more parsing than tells one event from the next.

`python -m bench.followers ORDER`, the order as JSON, says `ready` on stdout when every feed has begun, and at the end
what arrived, and when. The clock is the machine's monotonic one, which all processes share.
"""

import asyncio
import contextlib
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
import uvloop

TEXT = 1
PATIENCE_SECONDS = 30.0
SSE_EVENT = re.compile(rb"event: (\w+)\nid: (\d+)\ndata: [^\n]*\n\n")


@dataclass(frozen=True, slots=True)
class Order:
    """Who follows what: a subscriber for each session that is named, until each has so many events."""

    port: int
    kind: str
    """`ws` or `sse`."""
    sessions: Sequence[str]
    events: int


@dataclass(frozen=True, slots=True)
class ArrivalTimes:
    """What arrived: of each subscriber in turn, the seqs and when they came, in seconds."""

    seqs: list[list[int]]
    times: list[list[float]]


class _Frame(msgspec.Struct):
    type: str
    seq: int = 0


_decode = msgspec.json.Decoder(_Frame).decode


class Follower(asyncio.Protocol):
    """One subscriber."""

    def __init__(self, order: Order, session: str) -> None:
        loop = asyncio.get_running_loop()
        self.begun = loop.create_future()
        self.done = loop.create_future()
        self.seqs: list[int] = []
        self.times: list[float] = []
        self._order = order
        self._session = session
        self._got = b""
        self._taken = self._frames if order.kind == "ws" else self._events

    def connection_made(self, transport: Any) -> None:
        transport.write(asked(self._order, self._session))

    def connection_lost(self, exc: Exception | None) -> None:
        for future in (self.begun, self.done):
            if not future.done():
                future.set_exception(ConnectionError(f"a feed ended early: {self._got[:300]!r}"))
                future.exception()

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        self._got += data
        for kind, seq in self._taken():
            if kind == "connected":
                self.begun.set_result(None)
            else:
                self.seqs.append(seq)
                self.times.append(now)
                if len(self.seqs) == self._order.events:
                    self.done.set_result(None)

    def _events(self) -> Iterator[tuple[str, int]]:
        end = 0
        for found in SSE_EVENT.finditer(self._got):
            end = found.end()
            yield found[1].decode(), int(found[2])
        self._got = self._got[end:]

    def _frames(self) -> Iterator[tuple[str, int]]:
        if not self.begun.done() and self._got.startswith(b"HTTP/1.1 101"):
            _, found, rest = self._got.partition(b"\r\n\r\n")
            if not found:
                return
            self._got = rest
        while len(self._got) >= 2:
            start, size = 2, self._got[1] & 127
            if size == 126:
                start, size = 4, int.from_bytes(self._got[2:4], "big")
            if len(self._got) < start + size:
                return
            body, opcode = self._got[start : start + size], self._got[0] & 15
            self._got = self._got[start + size :]
            if opcode == TEXT:
                frame = _decode(body)
                yield frame.type, frame.seq


def asked(order: Order, session: str) -> bytes:
    """The request that begins a feed."""
    if order.kind == "sse":
        return f"GET /api/feed?session={session} HTTP/1.1\r\nHost: 127.0.0.1:{order.port}\r\n\r\n".encode()
    return (
        f"GET /ws?session={session} HTTP/1.1\r\nHost: 127.0.0.1:{order.port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


async def follow(order: Order) -> ArrivalTimes:
    """Follow until everybody has everything, or somebody has waited for too long."""
    loop = asyncio.get_running_loop()
    followers: list[Follower] = []
    for session in order.sessions:
        _, follower = await loop.create_connection(lambda s=session: Follower(order, s), "127.0.0.1", order.port)  # type: ignore[misc]
        followers.append(follower)
    await asyncio.wait_for(asyncio.gather(*(each.begun for each in followers)), PATIENCE_SECONDS)
    print("ready", flush=True)
    with contextlib.suppress(TimeoutError):  # what is missing is seen by who asked
        await asyncio.wait_for(asyncio.gather(*(each.done for each in followers)), PATIENCE_SECONDS)
    return ArrivalTimes([each.seqs for each in followers], [each.times for each in followers])


if __name__ == "__main__":
    print(json.dumps(asdict(uvloop.run(follow(Order(**json.loads(sys.argv[1])))))))
