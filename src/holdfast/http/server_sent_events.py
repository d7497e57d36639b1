"""Server-sent events as bytes: how one is written, and how they are read again.

This is the one place that knows the format. The proof has a reader of its own on purpose: it shares no code with what
it judges.
"""

import json
from collections.abc import Iterator
from typing import Any

EVENTS = "text/event-stream"
HEARTBEAT = b": still here\n\n"
"""A comment: readers skip it."""
LONGEST_LINE = 8 * 1024 * 1024


class LineTooLong(ValueError):
    """A line of a stream is longer than any event of ours."""


def event(data: bytes, *, kind: str | None = None, place: int | str | None = None) -> bytes:
    """One event with JSON as its data, a type if it has one, and the id after which a reader goes on.

    Line ends within the data can only be blanks between its parts, so that any line end will do.
    """
    head = b"" if kind is None else f"event: {' '.join(kind.split())}\n".encode()
    if place is not None:
        head += f"id: {place}\n".encode()
    if b"\n" in data or b"\r" in data:
        return head + b"".join(b"data: " + line + b"\n" for line in data.splitlines()) + b"\n"
    return b"".join((head, b"data: ", data, b"\n\n"))


def ascii_event(document: dict[str, Any]) -> bytes:
    """A document as an event, all but ASCII escaped: some clients take more characters for line ends than SSE does."""
    return event(json.dumps(document, allow_nan=False, separators=(",", ":")).encode())


class EventReader:
    """Finds events in the bytes that carry them.

    By hand: a line ends at a line feed only, while U+2028 and its like may stand in the JSON of an event.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of the events that are complete with this; LineTooLong."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            raise LineTooLong(f"a line of more than {LONGEST_LINE} bytes in a stream of events")
        for line in map(bytes.rstrip, lines):
            if line.startswith(b"data:"):
                self._data.append(line[5:].lstrip())
            elif not line and self._data:
                yield b"\n".join(self._data)
                self._data = []
