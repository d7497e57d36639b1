"""A proxy before a real gateway: it starts it as its child, passes requests on, and gives a defect its chances."""

import http.client
import json
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from holdfast.prove.targets.process import HOST, free_port, port_answers

START_SECONDS = 60.0
HEALTH = ("/health", "/readyz")
OWN = frozenset({"connection", "content-length", "transfer-encoding", "keep-alive", "host"})


class Answered:
    """What the gateway answered to a request."""

    def __init__(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def document(self) -> dict[str, Any]:
        """The body's JSON object; an empty one if it is none."""
        with suppress(ValueError):
            found = json.loads(self.body)
            return found if isinstance(found, dict) else {}
        return {}


def answer_of(document: dict[str, Any]) -> Answered:
    """An answer that the proxy makes up."""
    return Answered(200, [("Content-Type", "application/json")], json.dumps(document).encode())


class HonestProxy:
    """Passes everything on. A kind overrides one method."""

    def __init__(self, serve: list[str]) -> None:
        self.data = Path(serve[serve.index("--data") + 1])
        self.store = serve[serve.index("--store") + 1] if "--store" in serve else None
        self.port = int(serve[serve.index("--port") + 1])
        self._inner = free_port()
        self._serve = [*serve[: serve.index("--port")], "--port", str(self._inner), *serve[serve.index("--port") + 2 :]]
        self._child: subprocess.Popen[bytes] | None = None
        self.lock = threading.Lock()

    def start(self) -> None:
        """Start the gateway and wait until it listens."""
        self._child = subprocess.Popen([sys.executable, "-P", "-m", "holdfast", *self._serve])
        deadline = time.monotonic() + START_SECONDS
        while not port_answers(self._inner) or self.forward("GET", "/readyz", {}, b"").status != 200:
            if time.monotonic() > deadline or self._child.poll() is not None:
                sys.exit("the gateway did not start")
            time.sleep(0.02)

    def stop(self) -> None:
        """SIGTERM, and wait."""
        if self._child is not None:
            self._child.send_signal(signal.SIGTERM)
            self._child.wait()

    def forward(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        """What the gateway answers."""
        connection = http.client.HTTPConnection(HOST, self._inner, timeout=START_SECONDS)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in OWN]
            return Answered(answer.status, kept, answer.read())
        finally:
            connection.close()

    def run_sql(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Change the rows behind the gateway's back."""
        if self.store and self.store.startswith("postgres"):
            import psycopg

            with psycopg.connect(self.store) as connection:
                done = connection.execute(sql.replace("?", "%s").encode(), values)
                return done.fetchall() if done.description else []
        database = sqlite3.connect(self.data / "holdfast.db", timeout=10)
        try:
            with database:
                return database.execute(sql, values).fetchall()
        finally:
            database.close()

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answered:
        """What the proxy answers: a kind with a defect overrides this."""
        return self.forward(method, path, headers, body)


def run(proxy: HonestProxy) -> None:
    """Serve until SIGTERM."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name: value for name, value in self.headers.items() if name.lower() not in OWN}
            try:
                answered = proxy.answer(self.command, self.path, headers, body)
            except OSError:
                answered = Answered(502, [], b"")
            with suppress(OSError):
                self.send_response(answered.status)
                for name, value in answered.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answered.body)))
                self.end_headers()
                self.wfile.write(answered.body)

        do_GET = do_POST = do_PATCH = do_DELETE = handle_one  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        address_family = socket.AF_INET

        def handle_error(self, *_: object) -> None:
            """Say nothing of a client that went away."""

    proxy.start()
    with Server((HOST, proxy.port), Handler) as server:
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
        server.serve_forever()
    proxy.stop()
