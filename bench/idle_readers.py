"""`python -m bench.idle_readers`: what a gateway takes of memory while ten clients ask for much and read nothing."""

import json
import socket
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.request import Request, urlopen

from bench.servers import Server, gateway

READERS = 10
EVENTS = 400
EVENT_BYTES = 100_000
STEADY_SECONDS = 3.0
MB = 1024 * 1024
PATHS = ("/api/sessions/s/log", "/api/export?session=s", "/api/feed?session=s&after=0")


def main() -> None:
    """Print it for each stream."""
    for path in PATHS:
        with tempfile.TemporaryDirectory() as place, gateway(Path(place) / "data") as server:
            fill(server)
            before = server.rss_bytes
            with ExitStack() as stack:
                for _ in range(READERS):
                    ask(stack.enter_context(socket.create_connection(("127.0.0.1", server.port))), path)
                most = highest(server)
            print(f"{path}: {before / MB:.0f} MB before, {most / MB:.0f} MB with {READERS} idle readers")


def fill(server: Server) -> None:
    """Append a session of 40 MB."""
    line = json.dumps({"type": "large", "details": {"text": "x" * EVENT_BYTES}}).encode()
    for _ in range(EVENTS // 100):
        body = b"\n".join([line] * 100)
        urlopen(Request(f"http://127.0.0.1:{server.port}/api/actions/s/batch", body, method="POST")).read()


def ask(connection: socket.socket, path: str) -> None:
    """Ask, and take nothing of the answer."""
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


def highest(server: Server) -> int:
    """The most that was in memory, once it has stayed the same for a while."""
    most, since = 0, time.monotonic()
    while time.monotonic() - since < STEADY_SECONDS:
        if (now := server.rss_bytes) > most:
            most, since = now, time.monotonic()
        time.sleep(0.05)
    return most


if __name__ == "__main__":
    main()
