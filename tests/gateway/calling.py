"""A program that uses a gateway over the network, and hides nothing of what it is told."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2
from tests.gateway.process import PATIENCE
from websockets.sync.client import ClientConnection, connect

PROBLEM = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Caller:
    """Speaks to one gateway, over connections that it keeps."""

    url: str
    engine: str
    store_url: str
    client: httpx2.Client = field(repr=False)

    def ask(self, method: str, path: str, body: Any = None, *, status: int = 200, **more: Any) -> Any:
        """The answer as a JSON value; the status must be this one."""
        given = {"content": body} if isinstance(body, bytes) else {} if body is None else {"json": body}
        answer = self.client.request(method, path, **given, **more)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text[:500]}"
        return checked(answer) if status >= 400 else answer.json()

    def get(self, path: str, *, status: int = 200, **more: Any) -> Any:
        """What is read there."""
        return self.ask("GET", path, status=status, **more)

    def post(self, path: str, body: Any = None, *, status: int = 201, **more: Any) -> Any:
        """What is told of a new thing."""
        return self.ask("POST", path, body, status=status, **more)

    def patch(self, path: str, body: Any, *, status: int = 200, **more: Any) -> Any:
        """What is told of a change."""
        return self.ask("PATCH", path, body, status=status, **more)

    def bytes_at(self, path: str) -> bytes:
        """The answer as it is on the wire."""
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text[:500]
        return answer.content

    def send_raw(self, request: bytes) -> tuple[int, bytes]:
        """Send these bytes on a connection of their own; status and body of the first answer."""
        with self.connection() as raw:
            raw.sendall(request)
            answer = bytearray()
            while piece := raw.recv(65536):
                answer += piece
        head, _, body = bytes(answer).partition(b"\r\n\r\n")
        return int(head.split(None, 2)[1]), body

    @contextmanager
    def connection(self) -> Iterator[socket.socket]:
        """A connection to the gateway on which nothing was said yet."""
        where = urlsplit(self.url)
        with socket.create_connection((where.hostname, where.port), timeout=PATIENCE) as made:
            yield made

    @contextmanager
    def follow(self, query: str = "") -> Iterator[ClientConnection]:
        """A live feed; its first message is not taken yet."""
        live = self.url.replace("http", "ws", 1) + "/ws"
        with connect(f"{live}?{query}", proxy=None, open_timeout=PATIENCE, max_size=None) as made:
            yield made


def told(live: ClientConnection) -> dict[str, Any]:
    """The next message of a feed."""
    found: dict[str, Any] = json.loads(live.recv(timeout=PATIENCE))
    return found


def checked(answer: httpx2.Response) -> dict[str, Any]:
    """The answer's problem, which must have the one shape that all have."""
    assert answer.headers["content-type"] == PROBLEM, answer.text[:500]
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["type"] == f"urn:holdfast:problem:{problem['code']}"
    assert all(isinstance(problem[name], str) and problem[name] for name in ("title", "detail", "code"))
    return problem
