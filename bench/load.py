"""A load generator: keep-alive connections, requests encoded beforehand, raw sockets.

`python -m bench.load ORDER`, the order as JSON, prints what it saw as JSON.
"""

import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import cast

import uvloop

from bench.material import TYPE, WRITERS, payload, session_id

HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"
BATCH = 1_000
SPARE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Order:
    """What to ask for, where, on how many connections, how long, and with which token."""

    ports: Sequence[int]
    what: str = "append"
    """`append`: an action; `batch`: a thousand of them; `create`: a session."""
    connections: int = WRITERS
    seconds: float = 1.0
    most: int = 0
    """Requests of each connection, if not as many as it can send in that time."""
    token: str = ""
    first: int = 0
    """The number of the first connection's session."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What came back: answers a second, and how long they took."""

    rate: float
    p50_ms: float
    p99_ms: float
    refused: int = 0
    cpu_seconds: float = 0.0
    """What asking took of a processor."""


def run(order: Order) -> LoadResult:
    """Carry out the order in a process of its own; RuntimeError if anything was refused."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.load", json.dumps(asdict(order))],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=order.seconds + SPARE_SECONDS,
    )
    found = LoadResult(**json.loads(done.stdout.splitlines()[-1]))
    if found.refused or not found.rate:
        raise RuntimeError(f"a server refused what it was asked: {found}")
    return found


def requests(order: Order, number: int) -> Iterator[bytes]:
    """What one connection asks, one after the other."""
    action = b'{"type":"%s","details":%s}' % (TYPE.encode(), payload())
    session = session_id(number)
    if order.what == "create":
        for count in itertools.count():
            named = f"{session}:{time.time_ns()}:{count}"
            described = {"sessionId": named, "userId": "ada", "initial": {"input": "hi"}}
            yield request(order, number, "/api/sessions", json.dumps(described).encode())
    if order.what == "batch":
        yield from itertools.repeat(
            request(order, number, f"/api/actions/{session}/batch", b"\n".join([action] * BATCH))
        )
    yield from itertools.repeat(request(order, number, f"/api/actions/{session}", action))


def request(order: Order, number: int, path: str, body: bytes) -> bytes:
    """A request as bytes."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{order.ports[number % len(order.ports)]}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    )
    token = f"Authorization: Bearer {order.token}\r\n" if order.token else ""
    return f"{head}{token}\r\n".encode() + body


@dataclass(slots=True)
class LoadTally:
    """What came back until now."""

    end: float
    waits: list[float] = field(default_factory=list)
    refused: int = 0


class Connection(asyncio.Protocol):
    """Asks again as soon as the answer is complete."""

    def __init__(self, asked: Iterator[bytes], seen: LoadTally, done: "asyncio.Future[None]") -> None:
        self._asked = asked
        self._seen = seen
        self._done = done
        self._got = b""
        self._sent_at = 0.0
        self._waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, found, body = self._got.partition(HEAD_END)
        if not found or len(body) < content_length(head):
            return
        now = time.perf_counter()
        if head.startswith(b"HTTP/1.1 201"):
            self._seen.waits.append(now - self._sent_at)
        else:
            self._seen.refused += 1
        self._got = b""
        self._waiting = False
        if now < self._seen.end:
            self._ask()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._seen.refused += self._waiting
        if not self._done.done():
            self._done.set_result(None)

    def _ask(self) -> None:
        asked = next(self._asked, None)
        self._sent_at = time.perf_counter()
        if asked is None:
            self._transport.close()
        else:
            self._waiting = True
            self._transport.write(asked)


def content_length(head: bytes) -> int:
    """How long the body is that this head announces."""
    lower = head.lower()
    start = lower.index(LENGTH) + len(LENGTH)
    return int(lower[start:].split(b"\r\n", 1)[0])


async def load(order: Order) -> LoadResult:
    """Ask on every connection; what came back."""
    loop = asyncio.get_running_loop()
    start, busy = time.perf_counter(), time.process_time()
    seen = LoadTally(start + order.seconds)
    ends: list[asyncio.Future[None]] = [loop.create_future() for _ in range(order.connections)]
    for number, end in enumerate(ends, order.first):
        asked = requests(order, number)
        if order.most:
            asked = itertools.islice(asked, order.most)
        port = order.ports[number % len(order.ports)]
        await loop.create_connection(lambda asked=asked, end=end: Connection(asked, seen, end), "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.gather(*ends)
    passed = time.perf_counter() - start
    waits = sorted(seen.waits) or [0.0]
    return LoadResult(
        len(seen.waits) / passed,
        percentile(waits, 0.5) * 1000,
        percentile(waits, 0.99) * 1000,
        seen.refused,
        time.process_time() - busy,
    )


def percentile(ordered: Sequence[float], part: float) -> float:
    """The value that this part of the values does not exceed."""
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


if __name__ == "__main__":
    print(json.dumps(asdict(uvloop.run(load(Order(**json.loads(sys.argv[1])))))))
