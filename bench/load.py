"""A load generator for machines without wrk: keep-alive connections, requests encoded beforehand, raw sockets.

`python -m bench.load PORT CONNECTIONS SECONDS` prints what it saw as JSON.
"""

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from typing import cast

import uvloop

from bench.material import TYPE, payload, session_id

HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"


@dataclass(slots=True)
class Seen:
    """What came back."""

    end: float
    waits: list[float] = field(default_factory=list)
    refused: int = 0


def request(port: int, number: int) -> bytes:
    """An append to the session of this number, as bytes."""
    body = b'{"type":"%s","details":%s}' % (TYPE.encode(), payload())
    head = (
        f"POST /api/actions/{session_id(number)} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Connection(asyncio.Protocol):
    """Sends its request again as soon as the answer is complete."""

    def __init__(self, asked: bytes, seen: Seen, done: "asyncio.Future[None]") -> None:
        self._asked = asked
        self._seen = seen
        self._done = done
        self._got = b""
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, found, body = self._got.partition(HEAD_END)
        if not found or len(body) < _length(head):
            return
        now = time.perf_counter()
        if head.startswith(b"HTTP/1.1 201"):
            self._seen.waits.append(now - self._sent_at)
        else:
            self._seen.refused += 1
        self._got = b""
        if now < self._seen.end:
            self._ask()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(None)

    def _ask(self) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(self._asked)


def _length(head: bytes) -> int:
    lower = head.lower()
    start = lower.index(LENGTH) + len(LENGTH)
    return int(lower[start:].split(b"\r\n", 1)[0])


async def load(port: int, connections: int, seconds: float) -> dict[str, float]:
    """Ask on every connection for some seconds; what came back."""
    loop = asyncio.get_running_loop()
    start = time.perf_counter()
    seen = Seen(start + seconds)
    ends: list[asyncio.Future[None]] = [loop.create_future() for _ in range(connections)]
    for number, end in enumerate(ends):
        asked = request(port, number)
        await loop.create_connection(lambda asked=asked, end=end: Connection(asked, seen, end), "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.gather(*ends)
    passed = time.perf_counter() - start
    waits = sorted(seen.waits) or [0.0]
    return {"rate": len(seen.waits) / passed, "p99_ms": waits[int(len(waits) * 0.99)] * 1000, "refused": seen.refused}


if __name__ == "__main__":
    print(json.dumps(uvloop.run(load(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))))
