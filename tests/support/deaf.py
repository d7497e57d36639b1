"""Clients that ask and then take nothing: sockets with next to no room of their own."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

ROOM = 4096
SECONDS = 60.0


def deaf(url: str, path: str, token: str | None = None, *, method: str = "GET", body: bytes = b"") -> socket.socket:
    """A connection on which this was asked, and of which nothing was read."""
    where = urlsplit(url)
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
    made.settimeout(SECONDS)
    made.connect((where.hostname, where.port))
    made.sendall(request(where.netloc, path, token, method, body))
    return made


def request(host: str, path: str, token: str | None = None, method: str = "GET", body: bytes = b"") -> bytes:
    """A request; of `/ws`, one to become a WebSocket."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if path.startswith("/ws"):
        lines += ["Upgrade: websocket", "Connection: Upgrade"]
        lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextmanager
def deaf_followers(url: str, path: str, number: int, token: str | None = None) -> Iterator[list[socket.socket]]:
    """So many feeds that have begun, of which nothing more is read."""
    with ExitStack() as stack:
        made = [stack.enter_context(deaf(url, path, token)) for _ in range(number)]
        for follower in made:
            begin(follower)
        yield made


def begin(follower: socket.socket) -> None:
    """Read a feed's first message and nothing after it."""
    got = b""
    while b'"connected"' not in got or not got.endswith((b"}", b"\n\n\r\n")):
        piece = follower.recv(ROOM)
        assert piece, got
        got += piece
    assert got.startswith((b"HTTP/1.1 101", b"HTTP/1.1 200")), got[:500]


def rest(client: socket.socket) -> bytes:
    """What is still to be had before the connection ends."""
    got = b""
    with suppress(ConnectionError):
        while piece := client.recv(1 << 20):
            got += piece
    return got
