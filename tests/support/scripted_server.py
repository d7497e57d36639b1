"""The one HTTP server of the tests that answers by script: a model's endpoint, a webhook, a proxy in a bad mood.

It listens on a free port of this machine and runs in threads of its own, so that tests with and without an event loop
use it alike. It keeps every request; it gives its answers in order and then the last one for ever, unless told
otherwise. An answer can be cut off, or held back until the test lets it go.

Three have servers of their own, on purpose: `tests/client/gate.py` passes requests on to a real gateway,
`tests/prove/answering.py` has each byte written by the test, in its event loop, and the programs of `tests/prove` are
killed, so they are processes.
"""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, NamedTuple

from tests.support.eventually import eventually


class ScriptedRequest(NamedTuple):
    """One request that came; header names are in lower case, and the body is the JSON value that it was."""

    target: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Answer:
    """One answer; `cut` closes the connection before the answer is whole."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


TAKEN = Answer(status=204)


class ScriptedServer(ThreadingTCPServer):
    """Gives its answers in order, then `otherwise`, and keeps what it was sent; while `hold` is not set, nothing."""

    daemon_threads = True

    def __init__(self, answers: list[Answer], otherwise: Answer, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.otherwise = otherwise
        self.requests: list[ScriptedRequest] = []
        self.hold: threading.Event | None = None
        self._lock = threading.Lock()
        self.port: int = self.server_address[1]
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    @property
    def origin(self) -> str:
        """Its URL without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """Its URL as a model's endpoint."""
        return f"{self.origin}/v1"

    def answer_to(self, request: ScriptedRequest) -> Answer:
        """Keep a request; the answer to it, once it may be given."""
        with self._lock:
            self.requests.append(request)
        if self.hold is not None:
            self.hold.wait()
        with self._lock:
            return self.answers.pop(0) if self.answers else self.otherwise

    async def wait_for(self, enough: Callable[[], bool]) -> None:
        """Return once this holds, for a test with an event loop."""
        await eventually(enough)

    async def came(self, count: int) -> list[ScriptedRequest]:
        """The requests, once they are so many."""
        await self.wait_for(lambda: len(self.requests) >= count)
        return self.requests

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedServer
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.answer_to(ScriptedRequest(self.path, headers, json.loads(sent) if sent else None))
        self.send_response(answer.status)
        length = len(answer.body) + (100 if answer.cut else 0)
        for name, value in {"content-length": str(length), "connection": "close", **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)
        self.close_connection = True

    do_GET = do_POST = _answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def endpoint(*answers: Answer, tls: ssl.SSLContext | None = None) -> Iterator[ScriptedServer]:
    """A server that gives these answers, the last one for ever."""
    *first, last = answers or (Answer(),)
    with ScriptedServer(first, last, tls) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            if server.hold is not None:
                server.hold.set()
            server.shutdown()
            thread.join()


def webhook(tls: ssl.SSLContext | None = None) -> AbstractContextManager[ScriptedServer]:
    """A server that takes everything that is posted to it."""
    return endpoint(TAKEN, tls=tls)


def events(*documents: Any, cut: bool = False) -> Answer:
    """A stream of server-sent events; a string goes as it is, anything else as JSON."""
    data = [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in documents]
    body = "".join(f"event: x\ndata: {item}\n\n" for item in data).encode()
    return Answer(body, headers={"content-type": "text/event-stream"}, cut=cut)
