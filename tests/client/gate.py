"""A gate before the service: it lets requests through, answers them itself, or breaks them off, and keeps a list."""

import http.client
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    port: int
    """The client's port: one for each connection."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered instead of the service."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


class CutOff:
    """The request reaches the service, and its answer reaches nobody."""


def problem(status: int, code: str, **headers: str) -> Answer:
    """A refusal in the service's own words."""
    said = {"type": f"urn:holdfast:problem:{code}", "status": status, "code": code, "detail": f"it is {code}"}
    return Answer(status, json.dumps(said).encode(), tuple((name.replace("_", "-"), v) for name, v in headers.items()))


def let_through(_seen: Seen) -> None:
    """No answer of the gate's own."""


class Gate:
    """Stands on a port of its own for as long as it is entered."""

    def __init__(self, service: str) -> None:
        self._service = urlsplit(service)
        self.seen: list[Seen] = []
        self.decide: Callable[[Seen], Answer | CutOff | None] = let_through
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "Gate":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        gate = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except ConnectionError:
                    self.close_connection = True

            def serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                seen = Seen(self.command, self.path, dict(self.headers.items()), body, self.client_address[1])
                gate.seen.append(seen)
                answer = gate.decide(seen)
                if answer is None or isinstance(answer, CutOff):
                    passed = gate.forward(seen)
                    if isinstance(answer, CutOff):
                        self.close_connection = True
                        return
                    answer = passed
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_POST = do_PATCH = serve  # noqa: N815

            def log_message(self, *_: Any) -> None:
                """Nothing on stderr."""

        return Handler

    def forward(self, seen: Seen) -> Answer:
        """What the service says to a request."""
        way = http.client.HTTPConnection(self._service.hostname or "", self._service.port, timeout=30)
        try:
            way.request(seen.method, seen.path, seen.body, seen.headers)
            answer = way.getresponse()
            kept = tuple((name, value) for name, value in answer.getheaders() if name.lower() == "retry-after")
            return Answer(answer.status, answer.read(), kept)
        finally:
            way.close()
