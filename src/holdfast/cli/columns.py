"""Text in columns of a terminal: how wide it is, cut to a width, set as a table."""

import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

import click

GAP = "  "
UNKNOWN = "\N{REPLACEMENT CHARACTER}"


def is_harmless(char: str) -> bool:
    """Whether a terminal only shows it: no control, no formatting, no half of a character."""
    return char.isprintable() or unicodedata.category(char) == "Zs"


def plain(text: str) -> str:
    """The text on one line, without characters that could drive a terminal."""
    if text.isprintable():
        return text
    return "".join(char if is_harmless(char) else " " if char in "\t\r\n" else UNKNOWN for char in text)


def styled(text: str, **style: Any) -> str:
    """The text in a style, unless NO_COLOR asks for none or the terminal has none."""
    return text if os.environ.get("NO_COLOR") or is_dumb() else click.style(text, **style)


def is_dumb() -> bool:
    """Whether the terminal only writes what it gets: neither colours nor lines that change."""
    return os.environ.get("TERM") == "dumb"


def terminal_width() -> int | None:
    """The terminal's width; None for a pipe, where nothing is cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def width_of(text: str) -> int:
    """How many columns the text takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def cut(text: str, room: int) -> str:
    """The text in so many columns; one that is longer ends with an ellipsis."""
    if width_of(text) <= room:
        return text
    taken, kept = 1, ""
    for char in text:
        taken += _width(char)
        if taken > room:
            break
        kept += char
    return kept + "…" if room > 0 else ""


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = (), whole: Sequence[str] = ()
) -> None:
    """Rows under headings on a terminal; tab-separated lines without headings in a pipe.

    Where the terminal is too narrow the last columns are cut or left out, but never those that are to stay whole.
    """
    clean = [[plain(cell) for cell in row] for row in rows]
    room = terminal_width()
    if room is None:
        for row in clean:
            click.echo("\t".join(row))
        return
    if not clean:
        return
    lines = [list(columns), *clean]
    widths = [max(width_of(line[number]) for line in lines) for number in range(len(columns))]
    left = room - sum(width + len(GAP) for width, name in zip(widths, columns, strict=True) if name in whole)
    for number, name in enumerate(columns):
        if name not in whole:
            widths[number] = min(widths[number], max(left, 0))
            left -= widths[number] + len(GAP)
    for number, line in enumerate(lines):
        cells = [
            _set(cell, width, to_the_right=name in right)
            for cell, width, name in zip(line, widths, columns, strict=True)
            if width >= min(width_of(name), 3)
        ]
        text = GAP.join(cells).rstrip()
        click.echo(text if number else styled(text, bold=True))


def _set(cell: str, width: int, *, to_the_right: bool) -> str:
    text = cut(cell, width)
    space = " " * (width - width_of(text))
    return space + text if to_the_right else text + space


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
