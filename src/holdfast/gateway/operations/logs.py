"""The gateway's log: a line of JSON for each thing worth telling, without secrets.

    {"time": …, "level": …, "logger": …, "message": …, "fields": {…}, "error": {"type": …, "message": …, "trace": …}}

Whoever logs hands the line over and goes on: a thread writes it, so that a slow, full or missing disk holds up nobody.
What could not be written is counted and said once there is room again. Warnings also go to stderr, for people, and all
lines to stdout if that is asked for, for whoever collects what containers say.
"""

import json
import logging
import os
import select
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TextIO

import msgspec

from holdfast.core.clock import to_iso
from holdfast.core.errors import InvalidInput
from holdfast.core.redact import redact, redact_fields
from holdfast.gateway.operations.log_files import LogFiles
from holdfast.terminal.text import escaped

FOLDER = "logs"
OURS = "holdfast"
FIELDS = "fields"
SMALLEST_FILE = 64_000
MOST_KEPT = 1_000
MOST_WAITING = 10_000
MOST_TOGETHER = 256 * 1024
LONGEST = 16 * 1024
"""Characters of a message or a trace; a line of all of them is far shorter than a file."""
SLACK = 2 * 1024
END_SECONDS = 2.0
NEWLINE = "\n"

log = logging.getLogger("holdfast.gateway.operations.logs")

_encode = msgspec.json.Encoder(enc_hook=repr).encode


@dataclass(frozen=True, slots=True)
class Logs:
    """What is logged, and how much of it is kept."""

    requests: bool = False
    """A line for every request; else for those that fail or are slow."""
    slow_ms: int = 1_000
    max_bytes: int = 10_000_000
    keep: int = 5
    """Files, the one that grows included."""
    stdout: bool = False
    """Whether all lines also go to stdout."""

    def __post_init__(self) -> None:
        if self.max_bytes < SMALLEST_FILE:
            raise InvalidInput(f"a log file has room for {SMALLEST_FILE} bytes at least, not {self.max_bytes}")
        if not 2 <= self.keep <= MOST_KEPT:
            raise InvalidInput(f"2 to {MOST_KEPT} log files can be kept, not {self.keep}")


class LineSink(Protocol):
    """Where lines go."""

    def append(self, lines: bytes) -> None:
        """Write whole lines, or an OSError."""
        ...

    def close(self) -> None:
        """There are no more."""
        ...


class LineWriter(logging.Handler):
    """Writes records as lines, on a thread of its own."""

    def __init__(
        self,
        sink: LineSink,
        most_together: int = MOST_TOGETHER,
        *,
        most_waiting: int = MOST_WAITING,
        end_seconds: float = END_SECONDS,
    ) -> None:
        super().__init__()
        self._sink = sink
        self.dropped = 0
        """Lines that could not be written."""
        self._most_together = most_together
        self._most_waiting = most_waiting
        self._end_seconds = end_seconds
        self._counting = threading.Lock()
        self._queue: SimpleQueue[bytes | threading.Event | None] = SimpleQueue()
        self._untold = 0
        self._failing = False
        self._thread = threading.Thread(target=self._serve, name="holdfast-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Hand the record's line over; never waits, and drops it if too many wait."""
        try:
            line = line_of(record)
        except Exception:
            self.handleError(record)
            return
        if self._queue.qsize() < self._most_waiting:
            self._queue.put(line)
        else:
            self._drop(1)

    def settle(self, seconds: float) -> bool:
        """Wait until what was handed over before is written or dropped; False if that takes longer."""
        settled = threading.Event()
        self._queue.put(settled)
        return settled.wait(seconds)

    def close(self) -> None:
        """Write what was handed over, unless that takes too long."""
        self._queue.put(None)
        self._thread.join(self._end_seconds)
        super().close()

    def _serve(self) -> None:
        going = True
        while going:
            lines, settled, going = self._take()
            if lines:
                self._write(lines)
            if settled is not None:
                settled.set()
        self._sink.close()

    def _take(self) -> tuple[list[bytes], threading.Event | None, bool]:
        """Some lines that wait, who waits for them, and whether more may come."""
        lines: list[bytes] = []
        size = 0
        entry = self._queue.get()
        while entry is not None:
            if isinstance(entry, threading.Event):
                return lines, entry, True
            lines.append(entry)
            size += len(entry)
            if size > self._most_together:
                return lines, None, True
            try:
                entry = self._queue.get_nowait()
            except Empty:
                return lines, None, True
        return lines, None, False

    def _write(self, lines: list[bytes]) -> None:
        told = self._untold
        if told:
            lines.append(self._said(f"{told} lines of the log could not be written"))
        try:
            self._sink.append(b"".join(lines))
        except OSError as error:
            self._drop(len(lines) - bool(told))
            if not self._failing:
                self._failing = True
                log.warning("the log cannot be written and goes on without: %s", error)
        else:
            self._failing = False
            with self._counting:
                self._untold -= told

    def _drop(self, count: int) -> None:
        with self._counting:
            self.dropped += count
            self._untold += count

    def _said(self, text: str) -> bytes:
        return line_of(logging.LogRecord(log.name, logging.WARNING, "", 0, text, None, None))


class LogWriter(LineWriter):
    """Writes records to files."""

    def __init__(
        self,
        files: LogFiles,
        most_together: int = MOST_TOGETHER,
        *,
        most_waiting: int = MOST_WAITING,
        end_seconds: float = END_SECONDS,
    ) -> None:
        super().__init__(files, most_together, most_waiting=most_waiting, end_seconds=end_seconds)
        self.files = files
        self.beside: LineWriter | None = None
        """The writer to stdout, if there is one."""

    @property
    def dropped_in_all(self) -> int:
        """Lines that could not be written, wherever they were to go."""
        return self.dropped + (0 if self.beside is None else self.beside.dropped)


class Descriptor:
    """An open file that is not ours, such as stdout."""

    def __init__(self, number: int) -> None:
        self._number = number

    def append(self, lines: bytes) -> None:
        """Write whole lines; waits for whoever reads them."""
        left = memoryview(lines)
        while left:
            try:
                left = left[os.write(self._number, left) :]
            except BlockingIOError:
                select.select([], [self._number], [])

    def close(self) -> None:
        """Leave it to its owner."""


class PlainFormatter(logging.Formatter):
    """A record for people: without secrets or anything that drives a terminal, and on one line but for the trace."""

    def format(self, record: logging.LogRecord) -> str:
        """The time, the level, the logger and what it says."""
        said = f"{to_iso(int(record.created * 1000))} {record.levelname} {record.name}: "
        said += escaped(message_of(record))
        return f"{said}\n{escaped(_trace(record), keep=NEWLINE)}" if record.exc_info and record.exc_info[1] else said


@contextmanager
def writing(folder: Path, options: Logs) -> Iterator[LogWriter]:
    """Write what is logged to files in a folder, and to stdout if asked to, our own from info on."""
    files = LogFiles(folder, max_bytes=options.max_bytes, keep=options.keep)
    writer = LogWriter(files, min(MOST_TOGETHER, options.max_bytes // 4))
    root, ours = logging.getLogger(), logging.getLogger(OURS)
    before = ours.level
    writers: list[LineWriter] = [writer]
    if options.stdout:
        writer.beside = LineWriter(Descriptor(sys.stdout.fileno()))
        writers.append(writer.beside)
    for each in writers:
        root.addHandler(each)
    ours.setLevel(logging.INFO)
    try:
        yield writer
    finally:
        ours.setLevel(before)
        for each in writers:
            root.removeHandler(each)
            each.close()


def warn_people(stream: TextIO | None = None) -> None:
    """Say warnings on stderr."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(PlainFormatter())
    logging.getLogger().addHandler(handler)


def line_of(record: logging.LogRecord) -> bytes:
    """The record as a line of the log."""
    found: dict[str, Any] = {
        "time": to_iso(int(record.created * 1000)),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": message_of(record),
    }
    fields = getattr(record, FIELDS, None)
    if fields:
        found["fields"] = redact_fields(fields)
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        found["error"] = {
            "type": type(error).__qualname__,
            "message": shortened(str(error)),
            "trace": _trace(record),
        }
    try:
        return _encode(found) + b"\n"
    except (UnicodeError, TypeError):  # text that is none, or keys that are none
        return json.dumps({**found, "fields": repr(fields)}).encode() + b"\n"


def message_of(record: logging.LogRecord) -> str:
    """What the record says, without secrets."""
    return shortened(record.getMessage())


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text without secrets, and no longer than that; a secret at the cut is not half shown."""
    cut = text[: longest + SLACK]
    shown = redact(cut.encode(errors="backslashreplace").decode())
    if len(text) > len(cut):
        return shown[:-SLACK][:longest] + "…"
    return shown if len(shown) <= longest else shown[:longest] + "…"


def _trace(record: logging.LogRecord) -> str:
    """The end of the trace, where the error is."""
    assert record.exc_info is not None
    text = "".join(traceback.format_exception(*record.exc_info))
    cut = text[-LONGEST - SLACK :]
    shown = redact(cut.encode(errors="backslashreplace").decode())
    return (shown[SLACK:] if len(text) > len(cut) else shown)[-LONGEST:].rstrip()
