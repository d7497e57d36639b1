"""A gateway that drains is not ready, but answers; it tells connections to close, and then stops as ever."""

import signal
import socket
from http.client import HTTPConnection
from pathlib import Path

import httpx2
import pytest
from tests.gateway.process import PATIENCE, Running, running
from tests.gateway.test_problems import check
from tests.support.web import web_client

LONG = "3600"
"""A drain that only a second signal ends."""


def until_not_ready(gateway: Running, http: httpx2.Client) -> httpx2.Response:
    """What `/readyz` says once it is not ready any more."""
    while True:
        answer = http.get(f"{gateway.url}/readyz")
        if answer.status_code != 200:
            return answer


@pytest.fixture
def http() -> httpx2.Client:
    return web_client()


def test_it_says_why_it_is_not_ready_and_still_answers(tmp_path: Path, http: httpx2.Client) -> None:
    with http, running(tmp_path, "--drain", LONG) as gateway:
        before = http.post(f"{gateway.url}/api/actions/s", json={"type": "n"})
        assert "connection" not in before.headers
        kept = connected(gateway)
        gateway.process.send_signal(signal.SIGTERM)
        answer = until_not_ready(gateway, http)
        assert (answer.status_code, check(answer)["code"]) == (503, "closing")
        assert "drains" in answer.json()["detail"]
        written = http.post(f"{gateway.url}/api/actions/s", json={"type": "n"})
        assert (written.status_code, written.json()["seq"]) == (201, 2)
        assert (written.headers["connection"], answer.headers["connection"]) == ("close", "close")
        assert http.get(f"{gateway.url}/health").status_code == 200
        assert "holdfast_draining 1.0" in http.get(f"{gateway.url}/metrics").text
        last = last_answer(kept)
        assert last.startswith(b"HTTP/1.1 200")
        assert b"connection: close" in last.lower()
        code, said = gateway.stop()
        assert (code, said) == (0, "")


def test_it_ends_by_itself(tmp_path: Path, http: httpx2.Client) -> None:
    with http, running(tmp_path, "--drain", "1") as gateway:
        gateway.process.send_signal(signal.SIGTERM)
        until_not_ready(gateway, http)
        assert gateway.process.wait(PATIENCE) == 0
        with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.1", port_of(gateway))):
            pass


def connected(gateway: Running) -> socket.socket:
    """A connection on which a request was answered, and that was left open."""
    connection = HTTPConnection("127.0.0.1", port_of(gateway), timeout=PATIENCE)
    connection.request("GET", "/health")
    answer = connection.getresponse()
    assert (answer.read() != b"", answer.will_close) == (True, False)
    assert connection.sock is not None
    return connection.sock


def last_answer(kept: socket.socket) -> bytes:
    """All that a connection says to one more request, until it is closed."""
    with kept:
        kept.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        said = b""
        while piece := kept.recv(65536):
            said += piece
        return said


def port_of(gateway: Running) -> int:
    return int(gateway.url.rsplit(":", 1)[1])
