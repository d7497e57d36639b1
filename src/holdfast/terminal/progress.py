"""A line that says how far something is, and goes away: for people at a terminal only."""

import sys
import time
from typing import TextIO

from holdfast.terminal.screen import has_lines_that_change, width
from holdfast.terminal.text import cut, one_line

SHOWN_SECONDS = 0.1
CLEAR = "\r\x1b[2K"


class ProgressLine:
    """A line on a stream, stderr unless another is named, that changes not more often than people can read."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shown = 0.0
        self.visible = has_lines_that_change(self._stream)

    def __call__(self, text: str, *, at_once: bool = False) -> None:
        """Say it, unless something was said a moment ago."""
        now = time.monotonic()
        if self.visible and (at_once or now - self._shown > SHOWN_SECONDS):
            self._write(CLEAR + cut(one_line(text), width() - 1))
            self._shown = now

    def clear(self) -> None:
        """Leave no trace of the line."""
        if self._shown:
            self._write(CLEAR)
            self._shown = 0.0

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
