"""How commands show things: words and units for people, JSON for programs, progress on stderr."""

import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import click

from holdfast.cli.columns import cut, is_dumb, is_harmless, plain, styled
from holdfast.core.clock import from_iso

UNITS = ("B", "KB", "MB", "GB", "TB")
AGES = ((86_400, "d"), (3_600, "h"), (60, "min"))
PROGRESS_SECONDS = 0.1


def as_json(value: Any) -> None:
    """One JSON value on stdout, on one line; what could drive a terminal is escaped in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if not text.isprintable():
        text = "".join(char if is_harmless(char) else _escaped(char) for char in text)
    click.echo(text)


def number(count: int, noun: str) -> str:
    """How many of a thing there are: `1 session`, `2 sessions`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def pairs(rows: Sequence[tuple[str, str]]) -> None:
    """Names and what they stand for, one below the other."""
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        click.echo(f"{styled(name.ljust(width), dim=True)}  {plain(value)}")


def heading(text: str) -> None:
    """The name of what follows."""
    click.echo()
    click.echo(styled(plain(text), bold=True))


def size(count: int | None) -> str:
    """A number of bytes for people."""
    if count is None:
        return "?"
    amount = float(count)
    for unit in UNITS:
        if amount < 1000 or unit == UNITS[-1]:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError


def age(timestamp: str, now_ms: int) -> str:
    """How long ago a time was, for people."""
    seconds = max((now_ms - from_iso(timestamp)) / 1000, 0)
    for length, unit in AGES:
        if seconds >= length:
            return f"{seconds / length:.0f} {unit} ago"
    return "just now"


def compact(value: Any, limit: int = 200) -> str:
    """A JSON value on one line, cut if it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[: limit - 1] + "…"


class Progress:
    """A line on stderr that says how far it is, for people only; not more often than they can read."""

    def __init__(self) -> None:
        self._shown = 0.0
        self.visible = sys.stderr.isatty() and not is_dumb()

    def __call__(self, text: str, *, at_once: bool = False) -> None:
        """Say it, unless something was said a moment ago."""
        now = time.monotonic()
        if self.visible and (at_once or now - self._shown > PROGRESS_SECONDS):
            room = os.get_terminal_size(sys.stderr.fileno()).columns
            click.echo(f"\r\x1b[2K{cut(plain(text), room - 1)}", err=True, nl=False)
            self._shown = now

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            click.echo("\r\x1b[2K", err=True, nl=False)


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else json.dumps(char)[1:-1]
