"""A model's endpoint that follows a script, on a real port: documents, streams, refusals, cut connections."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One answer; `cut` closes the connection before the answer is whole."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


class Endpoint(ThreadingHTTPServer):
    """Gives its answers in order, the last one for ever, and keeps what it was sent."""

    daemon_threads = True

    def __init__(self, answers: tuple[Answer, ...]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = answers
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.lock = threading.Lock()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def base_url(self) -> str:
        return f"{self.origin}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.server.lock:
            self.server.requests.append((self.path, headers, sent))
            answer = self.server.answers[min(len(self.server.requests), len(self.server.answers)) - 1]
        self.send_response(answer.status)
        length = len(answer.body) + (100 if answer.cut else 0)
        for name, value in {"content-length": str(length), "connection": "close", **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def endpoint(*answers: Answer) -> Iterator[Endpoint]:
    """An endpoint that runs."""
    with Endpoint(answers or (Answer(),)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def events(*documents: Any, cut: bool = False) -> Answer:
    """A stream of server-sent events; a string goes as it is, anything else as JSON."""
    data = [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in documents]
    body = "".join(f"event: x\ndata: {item}\n\n" for item in data).encode()
    return Answer(body, headers={"content-type": "text/event-stream"}, cut=cut)
