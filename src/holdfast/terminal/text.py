"""Text for a terminal: without what could drive it, measured in columns, cut or folded to a width.

What is not harmless is replaced where a reader only wants to see the text, and escaped where every character counts.
"""

import json
import unicodedata
from collections.abc import Callable, Iterator

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
BLANKS = "\t\r\n"


def is_harmless(char: str) -> bool:
    """Whether a terminal only shows it: no control, no formatting, no half of a character."""
    return char.isprintable() or unicodedata.category(char) == "Zs"


def one_line(text: str) -> str:
    """The text on one line, with a sign of the unknown for what could drive a terminal."""
    return _without_harm(text, lambda char: " " if char in BLANKS else UNKNOWN)


def escaped(text: str, keep: str = "") -> str:
    """The text with all that is neither visible nor a plain space escaped as in Python, but for what is to stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else repr(char)[1:-1] for char in text)


def escaped_json(text: str) -> str:
    """A JSON text that says the same, with what could drive a terminal escaped."""
    return _without_harm(text, lambda char: f"\\u{ord(char):04x}" if ord(char) < 0x10000 else json.dumps(char)[1:-1])


def width_of(text: str) -> int:
    """How many columns the text takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def cut(text: str, room: int) -> str:
    """The text in so many columns; one that is longer ends with an ellipsis."""
    if width_of(text) <= room:
        return text
    return _beginning(text, room - 1) + "…" if room > 0 else ""


def fold(text: str, room: int) -> list[str]:
    """The text in lines of so many columns, broken at spaces; a word that is longer than a line is broken anywhere."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if width_of(longer.rstrip()) <= room:
            lines[-1] = longer
        elif lines[-1]:
            lines += _pieces(word, room)
        else:
            lines[-1:] = _pieces(word, room)
    return [line.rstrip() for line in lines]


def _without_harm(text: str, instead: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    return "".join(char if is_harmless(char) else instead(char) for char in text)


def _pieces(word: str, room: int) -> Iterator[str]:
    while len(word) > 1 and width_of(word) > room:
        piece = _beginning(word, room) or word[0]
        yield piece
        word = word[len(piece) :]
    yield word


def _beginning(text: str, room: int) -> str:
    """As many characters of the text as fit."""
    taken = 0
    for number, char in enumerate(text):
        taken += _width(char)
        if taken > room:
            return text[:number]
    return text


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
