"""What a stream's terminal can do: whether it has styles and lines that change, and how wide it is."""

import os
import sys
from typing import TextIO

DEFAULT_WIDTH = 80
CODES = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "underline": "4",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "magenta": "35",
    "cyan": "36",
}


def is_dumb() -> bool:
    """Whether the terminal only writes what it gets: neither colours nor lines that change."""
    return os.environ.get("TERM") == "dumb"


def has_lines_that_change(stream: TextIO) -> bool:
    """Whether what was written to the stream can be taken back: by a terminal that is not dumb."""
    return stream.isatty() and not is_dumb()


def has_styles(stream: TextIO) -> bool:
    """Whether the stream shows styles: NO_COLOR and a dumb terminal have none, FORCE_COLOR has them in a pipe too."""
    if os.environ.get("NO_COLOR") or is_dumb():
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    """The text in a style such as `bold red`, if the stream, or stdout, shows styles."""
    if not style or not has_styles(stream or sys.stdout):
        return text
    return f"\x1b[{';'.join(CODES[word] for word in style.split())}m{text}\x1b[0m"


def width() -> int:
    """How wide the terminal is, also for what goes into a pipe; COLUMNS wins, and without a terminal it is 80."""
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named) > 0:
        return int(named)
    for descriptor in (1, 2, 0):
        try:
            found = os.get_terminal_size(descriptor).columns
        except OSError:
            continue
        if found > 0:
            return found
    return DEFAULT_WIDTH
