"""How soon a gateway that was killed is ready again: from the start of the new process to a yes on `/readyz`."""

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from bench.line import Effort, Line
from bench.load import Order, requests
from bench.material import WRITERS
from bench.programs import answered
from bench.servers import NotServed, plain_environment

KILLS = 20
QUICK_KILLS = 5
AT_MOST_SECONDS = 1.0
ROUNDS = 20
LOOK_SECONDS = 0.002


def measure(effort: Effort) -> list[Line]:
    """kill -9 while programs write, again and again, on one store; its first start makes the store, and is left out."""
    kills = QUICK_KILLS if effort.quick else KILLS
    with tempfile.TemporaryDirectory(dir=effort.folder) as place:
        _, *times = [start_and_kill(Path(place) / "data") for _ in range(kills + 1)]
    return [
        Line(
            "ready",
            f"from the start of a gateway to ready, after kill -9, median of {kills}",
            "s",
            median(times),
            at_most=AT_MOST_SECONDS,
            beside={
                "fastest s": min(times),
                "slowest s": max(times),
                "of which imports s": median(seconds_to_import() for _ in range(3)),
            },
        )
    ]


def start_and_kill(data: Path) -> float:
    """Start a gateway, have it write, and kill it while it does; the seconds until it was ready."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "holdfast", "serve", "--json", "--port=0", f"--data={data}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=plain_environment()) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            if not said:
                raise NotServed("the gateway did not start again")
            port = urlsplit(json.loads(said)["url"]).port
            assert port is not None
            while not is_ready(port):
                time.sleep(LOOK_SECONDS)
            seconds = time.perf_counter() - began
            write(port)
        finally:
            process.kill()
    return seconds


def is_ready(port: int) -> bool:
    """Whether a gateway says that it is."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        return answered(connection).startswith(b"HTTP/1.1 200")


def write(port: int) -> None:
    """Append from many connections at once, and leave when the last appends are under way."""
    with contextlib.ExitStack() as stack:
        asked = [
            (stack.enter_context(socket.create_connection(("127.0.0.1", port))), next(requests(Order([port]), number)))
            for number in range(WRITERS)
        ]
        for number in range(ROUNDS):
            for connection, request in asked:
                connection.sendall(request)
            if number < ROUNDS - 1:
                for connection, _ in asked:
                    answered(connection)


def seconds_to_import() -> float:
    """How long Python takes to load a gateway's code."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import holdfast.gateway.serve"], check=True)
    return time.perf_counter() - began
