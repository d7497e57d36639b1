"""A thousand live subscribers of one gateway: how long after an append each of them has it, and that each has all.

A writer appends at a modest rate; the time is from its sending the append to a subscriber's receipt, so the commit is
in it. The subscribers are raw sockets of one other process.
"""

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from bench import load
from bench.followers import ArrivalTimes
from bench.followers import Order as Following
from bench.line import Effort, Line
from bench.load import percentile, requests
from bench.material import session_id
from bench.programs import answered
from bench.servers import Server, gateway

MANY = 1_000
FEW = 10
SECONDS = 3.0
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Shape:
    """Who follows what, and how often something is appended."""

    name: str
    kind: str
    shared: bool
    """Whether all of them follow one session, or each one of its own."""
    per_second: int
    at_most_ms: float


SHAPES = (
    Shape("one session, WebSocket", "ws", True, 5, 250),
    Shape("own sessions, WebSocket", "ws", False, 200, 50),
    Shape("one session, SSE", "sse", True, 5, 250),
    Shape("own sessions, SSE", "sse", False, 200, 50),
)


@dataclass(frozen=True, slots=True)
class DeliveryTimes:
    """The delays of all deliveries, and the waits of the writer, both in order and in milliseconds."""

    delays: Sequence[float]
    waits: Sequence[float]
    cpu_seconds: float
    """Of the gateway."""


def measure(effort: Effort) -> list[Line]:
    """Each shape with a thousand, beside the same with ten, on a gateway of its own."""
    lines = []
    seconds = SECONDS * min(effort.seconds, 1.0)
    for shape in SHAPES:
        with tempfile.TemporaryDirectory(dir=effort.folder) as place, gateway(Path(place) / "data") as server:
            load.run(load.Order([server.port], connections=MANY, most=1, seconds=PATIENCE_SECONDS))
            few = deliver(server, shape, FEW, seconds)
            many = deliver(server, shape, MANY, seconds)
        lines.append(
            Line(
                "subscribers",
                f"{MANY:,} subscribers, {shape.name}: from an append to its receipt, p99",
                "ms",
                percentile(many.delays, 0.99),
                at_most=shape.at_most_ms,
                beside={
                    "p50 ms": percentile(many.delays, 0.5),
                    "append p99 ms": percentile(many.waits, 0.99),
                    f"{FEW} subscribers p99 ms": percentile(few.delays, 0.99),
                    "times that": percentile(many.delays, 0.99) / percentile(few.delays, 0.99),
                    "deliveries": len(many.delays),
                    "CPU ms of one append": many.cpu_seconds / len(many.waits) * 1000,
                },
                note="each got each, once and in order",
            )
        )
    return lines


def deliver(server: Server, shape: Shape, count: int, seconds: float) -> DeliveryTimes:
    """Have so many subscribers follow, append for some seconds, and see when each append came to each of them."""
    appends = max(round(shape.per_second * seconds), 1)
    if not shape.shared:
        appends = max(appends // count, 1) * count
    sessions = [session_id(0 if shape.shared else number) for number in range(count)]
    each = appends if shape.shared else appends // count
    with following(Following(server.port, shape.kind, sessions, each)) as told:
        sent: dict[str, list[float]] = {session: [] for session in sessions}
        waits = []
        before = server.cpu_seconds
        for session, began, ended in write(server.port, shape, appends, count):
            sent[session].append(began)
            waits.append(1000 * (ended - began))
        arrived = ArrivalTimes(**json.loads(told.readline()))
        busy = server.cpu_seconds - before
    delays = []
    for session, seqs, times in zip(sessions, arrived.seqs, arrived.times, strict=True):
        if len(seqs) != each or seqs != list(range(seqs[0], seqs[0] + each)):
            raise RuntimeError(f"a subscriber missed or doubled something: {seqs[:100]}, of {each}")
        delays += [1000 * (came - began) for began, came in zip(sent[session], times, strict=True)]
    return DeliveryTimes(sorted(delays), sorted(waits), busy)


@contextlib.contextmanager
def following(order: Following) -> Iterator[IO[str]]:
    """The subscribers' process, once all of them follow; what it tells at the end can be read."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.followers", json.dumps(asdict(order))], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("the subscribers did not get their feeds")
            yield process.stdout
        finally:
            process.kill()


def write(port: int, shape: Shape, appends: int, count: int) -> Iterator[tuple[str, float, float]]:
    """Append at the shape's rate: to which session, when it was sent and when it was acknowledged."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = time.monotonic()
        for number in range(appends):
            place = 0 if shape.shared else number % count
            asked = next(requests(load.Order([port]), place))
            time.sleep(max(0.0, start + number / shape.per_second - time.monotonic()))
            began = time.monotonic()
            connection.sendall(asked)
            if not answered(connection).startswith(b"HTTP/1.1 201"):
                raise RuntimeError("an append was refused")
            yield session_id(place), began, time.monotonic()
