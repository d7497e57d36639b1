"""Facts that a prompt states, and the questions that they answer.

`my <thing> is <value>` states one, `what is my <thing>?` asks for it. The patterns are strict: a fact that is
missed shows as a wrong answer and is looked into, a fact that is imagined would pass for memory.
"""

import re
from dataclasses import dataclass

from holdfast.models.simulator.commands import without_commands

WORD = r"[^\W_]+(?:['’-][^\W_]+)*"
THING = rf"{WORD}(?: {WORD}){{0,2}}"
VALUE_WORD = r"\w(?:[\w.@:/+'’-]*\w)?"
STATEMENT = r"(?<!what )(?<!if )(?<!whether )\bmy "

# A name is one word of letters, digits and hyphens; not `not Ada`, not half of `O'Brien`, not a question.
NAME = re.compile(
    rf"{STATEMENT}(name) is (?!not\b|what\b)([^\W_]+(?:-[^\W_]+)*)(?=[.,;:!)\"]*(?:\s|\Z))", re.IGNORECASE
)
OTHER = re.compile(
    rf"{STATEMENT}(?!name is)({THING}) is (?!not\b|what\b)({VALUE_WORD}(?: {VALUE_WORD}){{0,3}}?)"
    r"(?=[.,;:!)\"]+(?:\s|\Z)|\s*(?:\n|\Z)| and my\b)",
    re.IGNORECASE,
)
QUESTION = re.compile(rf"\bwhat(?:['’]s| is) my ({THING}) ?(?:\?|[.!]?(?:\n|\Z))", re.IGNORECASE)

SPELLINGS = {"favourite": "favorite", "colour": "color"}


@dataclass(frozen=True, slots=True)
class Fact:
    """A thing of the user's and its value, in the user's words."""

    thing: str
    value: str


def stated(words: str) -> list[Fact]:
    """The facts that some words state, in order; what is to be written or said is not meant."""
    meant = without_commands(words)
    found = sorted([*NAME.finditer(meant), *OTHER.finditer(meant)], key=lambda match: match.start())
    return [Fact(match[1], match[2]) for match in found]


def asked(words: str) -> list[str]:
    """The things that some words ask for, in order."""
    return [match[1] for match in QUESTION.finditer(without_commands(words))]


def same(one: str, other: str) -> bool:
    """Whether two names of a thing mean the same, in either spelling."""
    return _key(one) == _key(other)


def _key(thing: str) -> list[str]:
    return [SPELLINGS.get(word, word) for word in thing.replace("’", "'").casefold().split()]
