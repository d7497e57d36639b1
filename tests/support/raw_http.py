"""HTTP as bytes: answers cut out of a stream, for those who send what no client library would."""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple


class Answer(NamedTuple):
    """One answer, and whether the server closes the connection after it."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    last: bool


class NotAnAnswer(Exception):
    """What came is not HTTP."""


class Answers:
    """Bytes go in as they come, answers go out."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._bare: deque[bool] = deque()

    @property
    def rest(self) -> bytes:
        """What came and is not a whole answer yet."""
        return bytes(self._held)

    def expect(self, bare: Iterable[bool]) -> None:
        """Say of the answers that come next whether each is to HEAD, so that it has no body whatever it says."""
        self._bare.extend(bare)

    def feed(self, data: bytes) -> list[Answer]:
        """The answers that are whole now."""
        self._held += data
        found: list[Answer] = []
        while (answer := self._next()) is not None:
            found.append(answer)
        return found

    def _next(self) -> Answer | None:
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            return None
        status, headers = _head(bytes(self._held[:end]))
        start = end + 4
        if status in {101, 204, 304} or (self._bare and self._bare[0]):
            body, stop = b"", start
        elif headers.get(b"transfer-encoding") == b"chunked":
            chunks = _chunks(self._held, start)
            if chunks is None:
                return None
            body, stop = chunks
        else:
            stop = start + int(headers.get(b"content-length", b"0"))
            if stop > len(self._held):
                return None
            body = bytes(self._held[start:stop])
        del self._held[:stop]
        if self._bare:
            self._bare.popleft()
        return Answer(status, headers, body, headers.get(b"connection", b"").lower() == b"close")


def _head(raw: bytes) -> tuple[int, dict[bytes, bytes]]:
    first, *lines = raw.split(b"\r\n")
    if not first.startswith(b"HTTP/1.1 "):
        raise NotAnAnswer(repr(first[:200]))
    headers = {}
    for line in lines:
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    return int(first.split(None, 2)[1]), headers


def _chunks(held: bytearray, at: int) -> tuple[bytes, int] | None:
    body = bytearray()
    while True:
        line = held.find(b"\r\n", at)
        if line < 0:
            return None
        size = int(held[at:line], 16)
        stop = line + 2 + size
        if len(held) < stop + 2:
            return None
        body += held[line + 2 : stop]
        at = stop + 2
        if size == 0:
            return bytes(body), at
