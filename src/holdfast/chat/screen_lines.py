"""Lines on a terminal that can still change: those at its end are written again where they differ.

What has scrolled off the screen stays as it was written. No line is wider than the terminal, so that each takes one
row. Where nothing can be taken back, lines are written once they are final.
"""

import os
import sys
from typing import TextIO

from holdfast.terminal.screen import has_lines_that_change

DEFAULT_ROWS = 24


class ScreenLines:
    """The last lines of a stream, as they stand."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.changes = has_lines_that_change(self.stream)
        self._shown: list[str] = []

    def show(self, lines: list[str]) -> None:
        """Let these be the lines that can still change, in place of those that were."""
        if not self.changes:
            return
        same = next((n for n, (old, new) in enumerate(zip(self._shown, lines, strict=False)) if old != new), None)
        if same is None:
            same = min(len(self._shown), len(lines))
        first = max(same, len(self._shown) - _rows() + 1)
        up = len(self._shown) - first
        moved = f"\x1b[{up}A" if up else ""
        cleared = "\x1b[J" if up else ""
        self._write("\r" + moved + cleared + "".join(f"{line}\n" for line in lines[first:]))
        self._shown = list(lines)

    def settle(self, lines: list[str]) -> None:
        """Write these lines for good, in place of those that could change."""
        if self.changes:
            self.show(lines)
        else:
            self._write("".join(f"{line}\n" for line in lines))
        self._shown = []

    def _write(self, text: str) -> None:
        if text.strip("\r"):
            self.stream.write(text)
            self.stream.flush()


def _rows() -> int:
    """How many rows the terminal has."""
    named = os.environ.get("LINES", "")
    if named.isdecimal() and int(named) > 0:
        return int(named)
    try:
        return os.get_terminal_size(1).lines or DEFAULT_ROWS
    except OSError:
        return DEFAULT_ROWS
