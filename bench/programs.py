"""From one program that reports its actions to sixty-four: what all of them reach together, and how long one waits.

A program is a process with one connection that awaits each answer. All of them are forked from one small process, so
that starting sixty-four takes no time; what they send is encoded beforehand.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

from bench.line import Effort, Line
from bench.load import HEAD_END, LoadResult, Order, content_length, percentile, requests
from bench.servers import gateway

COUNTS = (1, 2, 4, 8, 16, 32, 64)
ROUNDS = 3
AT_LEAST = 0.8
START_SECONDS = 0.3
PIECE = 64 * 1024


def measure(effort: Effort) -> list[Line]:
    """More programs are never much worse than fewer."""
    with tempfile.TemporaryDirectory(dir=effort.folder) as place, gateway(Path(place) / "data") as server:
        _together(server.port, COUNTS[-1], effort.seconds)
        rounds = [
            {count: _together(server.port, count, effort.seconds) for count in COUNTS}
            for _ in range(min(effort.repeats, ROUNDS))
        ]
    curve = [
        {
            "programs": count,
            "events/s": median(found[count].rate for found in rounds),
            "p50 ms": median(found[count].p50_ms for found in rounds),
            "p99 ms": median(found[count].p99_ms for found in rounds),
        }
        for count in COUNTS
    ]
    rates = [point["events/s"] for point in curve]
    best = rates.index(max(rates))
    return [
        Line(
            "programs",
            f"1 to {COUNTS[-1]} programs over HTTP: the least that as many as the best, or more, reach / the best",
            "×",
            min(rates[best:]) / rates[best],
            at_least=AT_LEAST,
            beside={
                "one/s": rates[0],
                f"{COUNTS[-1]}/s": rates[-1],
                "one p99 ms": curve[0]["p99 ms"],
                f"{COUNTS[-1]} p99 ms": curve[-1]["p99 ms"],
            },
            note="each a process with one connection",
            curve=curve,
        )
    ]


def _together(port: int, count: int, seconds: float) -> LoadResult:
    done = subprocess.run(
        [sys.executable, "-m", "bench.programs", str(port), str(count), str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=seconds + 60,
    )
    return LoadResult(**json.loads(done.stdout))


def programs(port: int, count: int, seconds: float) -> LoadResult:
    """Fork the programs, let them begin together, and gather what they saw."""
    begin = time.perf_counter() + START_SECONDS
    pipes = []
    for number in range(count):
        reading, writing = os.pipe()
        if os.fork() == 0:
            code = 1
            try:
                with os.fdopen(writing, "w") as told:
                    json.dump(program(port, number, begin, seconds), told)
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        pipes.append(reading)
    waits: list[float] = []
    for pipe in pipes:
        with os.fdopen(pipe) as told:
            waits += json.load(told)
        _, status = os.wait()
        if status:
            raise RuntimeError("a program was refused")
    waits.sort()
    return LoadResult(len(waits) / seconds, percentile(waits, 0.5) * 1000, percentile(waits, 0.99) * 1000)


def program(port: int, number: int, begin: float, seconds: float) -> Sequence[float]:
    """One program: it appends, one action after the other, until the time is over."""
    asked = next(requests(Order([port]), number))
    waits = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        time.sleep(max(0.0, begin - time.perf_counter()))
        now, end = time.perf_counter(), begin + seconds
        while now < end:
            connection.sendall(asked)
            if not answered(connection).startswith(b"HTTP/1.1 201"):
                raise RuntimeError("an append was refused")
            before, now = now, time.perf_counter()
            waits.append(now - before)
    return waits


def answered(connection: socket.socket) -> bytes:
    """A whole answer."""
    got = b""
    while True:
        piece = connection.recv(PIECE)
        if not piece:
            raise RuntimeError("the gateway closed the connection")
        got += piece
        head, found, body = got.partition(HEAD_END)
        if found and len(body) >= content_length(head):
            return got


if __name__ == "__main__":
    print(json.dumps(asdict(programs(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))))
