"""A connection on which anything can be sent, and what comes back."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from tests.gateway.process import PATIENCE
from tests.support.raw_http import Answer, Answers

HOST = b"Host: localhost\r\n"


class Raw:
    """One connection."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self.socket = socket.create_connection((where.hostname, where.port), timeout=PATIENCE)
        self._answers = Answers()
        self._ready: list[Answer] = []

    def send(self, data: bytes) -> bool:
        """Whether it could still be sent."""
        try:
            self.socket.sendall(data)
        except OSError:
            return False
        return True

    def answer(self) -> Answer:
        """The next answer."""
        found = self.answer_if_any()
        assert found is not None, f"closed after {self._answers.rest!r}"
        return found

    def answer_if_any(self) -> Answer | None:
        """The next answer; None if the gateway closes the connection instead."""
        with suppress(ConnectionError):
            while not self._ready and (data := self.socket.recv(65536)):
                self._ready += self._answers.feed(data)
        return self._ready.pop(0) if self._ready else None

    def rest(self) -> list[Answer]:
        """All answers until the gateway closes the connection."""
        found, self._ready = self._ready, []
        with suppress(ConnectionError):
            while data := self.socket.recv(65536):
                found += self._answers.feed(data)
        assert not self._answers.rest
        return found

    def says(self, data: bytes) -> bool:
        """Whether the gateway says something, or closes, within a moment."""
        self.send(data)
        self.socket.settimeout(0.05)
        try:
            return self.socket.recv(1, socket.MSG_PEEK) is not None
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        finally:
            self.socket.settimeout(PATIENCE)


@contextmanager
def raw(url: str, data: bytes = b"") -> Iterator[Raw]:
    """A connection on which this was sent."""
    made = Raw(url)
    with made.socket:
        made.send(data)
        yield made


def get(path: str = "/health", headers: bytes = HOST, version: bytes = b"1.1") -> bytes:
    """A request."""
    return b"GET %b HTTP/%b\r\n%b\r\n" % (path.encode(), version, headers)


def post(path: str, body: bytes, headers: bytes = HOST) -> bytes:
    """A request with a body."""
    return b"POST %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (path.encode(), headers, len(body), body)


def refused(answer: Answer) -> tuple[int, str]:
    """Status and code of a problem, which must look like all of them."""
    assert answer.headers[b"content-type"] == b"application/problem+json", answer
    problem: dict[str, Any] = json.loads(answer.body)
    assert problem["status"] == answer.status
    assert problem["type"] == f"urn:holdfast:problem:{problem['code']}"
    assert problem["title"]
    assert problem["detail"]
    assert answer.headers[b"x-content-type-options"] == b"nosniff"
    assert answer.headers[b"cache-control"] == b"no-store"
    return answer.status, problem["code"]
