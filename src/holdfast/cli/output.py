"""How commands show things: words and units for people, JSON for programs, tabs in a pipe; and how they ask."""

import json
import signal
import sys
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import click

from holdfast.core import types
from holdfast.core.clock import from_iso
from holdfast.core.errors import InvalidInput
from holdfast.terminal.screen import styled, width
from holdfast.terminal.table import cut_table
from holdfast.terminal.text import cut, escaped_json, one_line, width_of

UNITS = ("B", "KB", "MB", "GB", "TB")
AGES = ((86_400, "d"), (3_600, "h"), (60, "min"))
LINE = "line-"
"""How the ids of events begin that were lines of another program."""
MOST_SHOWN = 2_000
"""Characters of an event's details."""


def as_json(value: Any) -> None:
    """One JSON value on stdout, on one line; what could drive a terminal is escaped in it."""
    click.echo(escaped_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))


def number(count: int, noun: str) -> str:
    """How many of a thing there are: `1 session`, `2 sessions`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def refusal(file: str, reason: str) -> str:
    """Why a file was refused, with its name, once."""
    return one_line(reason if not file or PurePath(file).name in reason else f"{file}: {reason}")


def pairs(rows: Sequence[tuple[str, str]]) -> None:
    """Names and what they stand for, one below the other."""
    longest = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        click.echo(f"{styled(name.ljust(longest), 'dim')}  {one_line(value)}")


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = (), whole: Sequence[str] = ()
) -> None:
    """Rows under headings, cut to the terminal; tab-separated lines without headings in a pipe."""
    if sys.stdout.isatty():
        lines = cut_table(columns, rows, width(), right=right, whole=whole) if rows else []
    else:
        lines = ["\t".join(map(one_line, row)) for row in rows]
    for line in lines:
        click.echo(line)


def event_line(event: dict[str, Any], session_id: str | None = None) -> str:
    """An event for people: time, session if it is not clear, seq, type, and what it says, cut to the terminal."""
    when = event["timestamp"].replace("T", " ").removesuffix("Z")
    kind = one_line(event["type"].removeprefix(types.PREFIX))
    place = f"{one_line(session_id)}  {event['seq']}" if session_id else f"{event['seq']:>5}"
    says = one_line("(erased)" if event.get("erased") else compact(_said(event), MOST_SHOWN))
    if sys.stdout.isatty():
        kind = cut(kind, width() - width_of(f"{when}  {place}  "))
        says = cut(says, width() - width_of(f"{when}  {place}  {kind}  "))
    return f"{styled(when, 'dim')}  {place}  {styled(kind, 'bold')}  {says}".rstrip()


def _said(event: dict[str, Any]) -> Any:
    """What an event says: its details, or the words of a line of another program that has some."""
    details = event.get("details")
    if not str(event.get("eventId")).startswith(LINE):
        return details
    from holdfast.transcripts.words import words_of

    return words_of(details) or details


def heading(text: str) -> None:
    """The name of what follows."""
    click.echo()
    click.echo(styled(one_line(text), "bold"))


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


def confirm(question: str, *, ask: bool) -> None:
    """Ask before what cannot be taken back, if it is to be asked: Abort on a no, InvalidInput if nobody is there."""
    if not ask:
        return
    if not sys.stdin.isatty():
        raise InvalidInput("nobody is here to be asked, so nothing was deleted", hint="use --yes, or --dry-run to see")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # the event loop's would wait for an answer
    try:
        click.confirm(question, abort=True, err=True)
    finally:
        signal.signal(signal.SIGINT, before)
