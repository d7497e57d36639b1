"""A text in its sentences, each on one line, and a long sentence in pieces that end where a clause does."""

import re
from collections.abc import Iterator

QUOTED = r"(?P<quoted>«[^»]{1,600}»|“[^”]{1,600}”)"
GAP = re.compile(rf"{QUOTED}|(?:(?<=[.!?])[\"'”)]*|(?<=[.!?][”»]))\s+|\n+")
"""What is between two sentences, or quoted: what stands in quotes is part of a sentence, whatever is in it."""
CLAUSE_END = re.compile(r"[,;:–—)，；：、。]\s*")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, in order."""
    start = 0
    for gap in GAP.finditer(text):
        if not gap["quoted"]:
            yield from _one_line(text[start : gap.start()])
            start = gap.end()
    yield from _one_line(text[start:])


def pieces(sentence: str, most: int) -> Iterator[str]:
    """A sentence in pieces of so many characters at most, each of which ends with a clause or else with a word."""
    while len(sentence) > most:
        ends = [found.end() for found in CLAUSE_END.finditer(sentence, most // 2, most)]
        cut = ends[-1] if ends else sentence.rfind(" ", most // 2, most) + 1 or most
        yield sentence[:cut].strip()
        sentence = sentence[cut:].lstrip()
    if sentence:
        yield sentence


def _one_line(sentence: str) -> Iterator[str]:
    line = " ".join(filter(None, (part.strip() for part in sentence.split("\n"))))
    if line:
        yield line
