"""What the two processes say to each other: frames, each with its kind and its length before it.

Every transcript that was ordered is answered in its turn: with the events of its log, in as many frames as they need,
and the frame that ends it; or with the error that refuses it. No frame is much larger than one event may be. Both
processes run the same program, so events go in the interpreter's own format, which is the quickest.
"""

import marshal
import pickle
import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import IO, Any

from holdfast.core import Event

FRAME_BYTES = 256 * 1024
_HEAD = struct.Struct("!BQ")


class FrameKind(IntEnum):
    """What a frame has in it."""

    EVENTS = 1
    """Some of the events of a log, in their order."""
    END = 2
    """What a new session has beside its log."""
    REFUSED = 3
    """The HoldfastError that one transcript met."""
    FAILED = 4
    """Why the process cannot go on, in words."""


def write_frame(stream: IO[bytes], kind: FrameKind, value: Any) -> None:
    """Write one frame."""
    raw = marshal.dumps(value) if kind is FrameKind.EVENTS else pickle.dumps(value)
    stream.write(_HEAD.pack(kind, len(raw)))
    stream.write(raw)


def read_frame(stream: IO[bytes]) -> tuple[FrameKind, Any]:
    """The next frame; EOFError if the stream ends before it is whole."""
    kind, size = _HEAD.unpack(_exactly(stream, _HEAD.size))
    raw = _exactly(stream, size)
    return FrameKind(kind), marshal.loads(raw) if kind == FrameKind.EVENTS else pickle.loads(raw)


def write_events(stream: IO[bytes], events: Iterable[Event]) -> None:
    """Write events of a log in as many frames as they need."""
    rows, size = [], 0
    for event in events:
        payload = bytes(event.payload)  # of no type of our own
        rows.append((event.seq, event.event_id, event.type, payload, event.created_at, event.hash, event.parent_id))
        size += len(payload)
        if size > FRAME_BYTES:
            write_frame(stream, FrameKind.EVENTS, rows)
            rows, size = [], 0
    if rows:
        write_frame(stream, FrameKind.EVENTS, rows)


def events_of(rows: Iterable[tuple[int, str, str, bytes, int, bytes, str | None]]) -> Iterator[Event]:
    """The events of a frame."""
    return (Event(*row) for row in rows)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    raw = stream.read(size)
    if len(raw) < size:
        raise EOFError
    return raw
