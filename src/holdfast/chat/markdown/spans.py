"""Styled text in lines: spans of words with a style each, folded to a width by the columns that they take."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TextIO

from holdfast.terminal.screen import styled
from holdfast.terminal.text import one_line, width_of


@dataclass(frozen=True, slots=True)
class Span:
    """Some text in one style; it is harmless."""

    text: str
    style: str = ""


Line = list[Span]
"""What stands on one line of the terminal."""

BREAK = Span("\n")
"""Where a new line begins."""


def span(text: str, style: str = "") -> Span:
    """A span of untrusted text, without what could drive a terminal."""
    return Span(one_line(text), style)


def line_width(line: Iterable[Span]) -> int:
    """How many columns a line takes."""
    return sum(width_of(each.text) for each in line)


def as_text(line: Line, stream: TextIO) -> str:
    """A line as the stream shows it, without spaces at its end."""
    joined = _joined((char, each.style) for each in trimmed(line) for char in each.text)
    return "".join(styled(each.text, each.style, stream) for each in joined)


def trimmed(line: Line) -> Line:
    """A line without the spaces at its end."""
    while line and not line[-1].text.strip(" "):
        line = line[:-1]
    return [*line[:-1], Span(line[-1].text.rstrip(" "), line[-1].style)] if line else []


def fold_spans(spans: Sequence[Span], room: int) -> list[Line]:
    """The spans in lines of so many columns, broken at spaces and breaks; a word that is too long, anywhere."""
    lines: list[Line] = []
    for breaks, part in groupby(spans, lambda each: each is BREAK):
        if breaks:
            lines += [[] for _ in list(part)[1:]]
        else:
            lines += _folded(list(part), room)
    return lines


def chop(text: str, style: str, room: int) -> list[Line]:
    """One line of code in lines of so many columns: every character is kept, and only the last line may be shorter."""
    return [[Span(piece, style)] for piece in _pieces(text, room)] or [[]]


def _folded(spans: Sequence[Span], room: int) -> list[Line]:
    lines: list[Line] = [[]]
    used = 0
    for word in _words(spans):
        blank = word[0].text.isspace()
        width = line_width(word)
        if used + width <= room:
            if not (blank and not used):
                lines[-1] += word
                used += width
            continue
        if blank:
            continue
        if used:
            lines.append([])
        pieces = _broken(word, room)
        lines[-1] += pieces[0]
        lines += pieces[1:]
        used = line_width(lines[-1])
    return [trimmed(line) for line in lines]


def _words(spans: Sequence[Span]) -> Iterator[Line]:
    """The spaces and words of some spans in turn; a word may change its style in between."""
    cells = [(char, each.style) for each in spans for char in each.text]
    for _, group in groupby(cells, lambda cell: cell[0] == " "):
        yield _joined(group)


def _joined(cells: Iterable[tuple[str, str]]) -> Line:
    return [Span("".join(char for char, _ in group), style) for style, group in groupby(cells, lambda cell: cell[1])]


def _broken(word: Line, room: int) -> list[Line]:
    """A word in lines of so many columns."""
    lines: list[Line] = [[]]
    used = 0
    for char, style in ((char, each.style) for each in word for char in each.text):
        width = width_of(char)
        if used and used + width > room:
            lines.append([])
            used = 0
        lines[-1].append(Span(char, style))
        used += width
    return [_joined((each.text, each.style) for each in line) for line in lines]


def _pieces(text: str, room: int) -> Iterator[str]:
    piece, used = "", 0
    for char in text:
        width = width_of(char)
        if piece and used + width > room:
            yield piece
            piece, used = "", 0
        piece += char
        used += width
    if piece:
        yield piece
