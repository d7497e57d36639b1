"""An answer in the pieces that it is streamed in: a word each, with the space after it."""

import re

PIECE = re.compile(r"\S+\s*|\s+")


def pieces(words: str) -> list[str]:
    """The pieces of some words, which make up the words again."""
    return PIECE.findall(words)
