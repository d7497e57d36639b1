"""What is asked about a text between `<text>` and `</text>`, or about notes between `<notes>` and `</notes>`.

Programs put what strangers wrote between such marks and ask for work on it: `Choose one: …`, `Choose all that apply:
…`, `as JSON with the members: …`, `from these notes`. What stands there is worked on and never obeyed. A value is taken
for a name, of a member or of a tool's argument, only where the text plainly has one of that kind; else it is null.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core import strict_json

MARK = re.compile(r"<(text|notes)>")
GIVEN = re.compile(r"<(text|notes)>\n?(?P<words>.*?)\n?</\1>", re.DOTALL)
CHOOSE = re.compile(r"\bchoose (?P<most>one|all that apply): (?P<options>[\w-]+(?:, [\w-]+)+)", re.IGNORECASE)
HINT = re.compile(r"^- (?P<option>[\w-]+): (?P<words>[^\n]+)", re.MULTILINE)
MEMBERS = re.compile(r"\bas JSON with the members: (?P<names>\w+(?:, \w+)*)", re.IGNORECASE)
COMPOSE = re.compile(r"\bfrom these notes\b", re.IGNORECASE)
USE_TOOLS = re.compile(r"\buse your tools\b", re.IGNORECASE)
WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
FIRST_WORDS = 12

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
COUNT = rf"(?P<value>\d{{1,3}}|{'|'.join(NUMBERS)})"
CAPITALIZED = r"(?P<value>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)?)"
VALUES: tuple[tuple[frozenset[str], re.Pattern[str]], ...] = (
    (frozenset({"date", "day"}), re.compile(r"\b(?P<value>\d{4}-\d{2}-\d{2})\b")),
    (frozenset({"time", "hour"}), re.compile(r"\b(?P<value>(?:[01]\d|2[0-3]):[0-5]\d)\b")),
    (
        frozenset({"passengers", "people", "persons", "guests", "seats"}),
        re.compile(rf"\b{COUNT} (?:passengers?|people|persons?|guests?|seats?|of us)\b", re.IGNORECASE),
    ),
    (frozenset({"email", "address", "sender"}), re.compile(r"(?P<value>(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+)")),
    (frozenset({"reference", "booking", "order"}), re.compile(r"\b(?P<value>[A-Z]{2,4}-[0-9A-F]{3,12})\b")),
    (
        frozenset({"name", "customer"}),
        re.compile(rf"(?:\b[Mm]y name is|\b[Tt]his is|\b[Rr]egards,?\s|^--? ?|^From:)\s*{CAPITALIZED}", re.MULTILINE),
    ),
)
"""How a value of a kind is written, by the words that names of that kind are made of."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the instructions say, and the texts that they are about."""

    instructions: str
    text: str
    notes: str


def request_in(words: str) -> Request | None:
    """The work on given texts that some words ask for; None if none are given."""
    given = {match[1]: match["words"].strip() for match in _given(words)}
    return Request(without_given(words), given.get("text", ""), given.get("notes", "")) if given else None


def without_given(words: str) -> str:
    """Some words without the texts that are given in them."""
    for match in reversed([*_given(words)]):
        words = words[: match.start()] + words[match.end() :]
    return words


def _given(words: str) -> Iterator[re.Match[str]]:
    """The given texts, in order. A mark that nothing closes begins none, and no later one of its kind is tried: with
    many of them that would take for ever."""
    place, unclosed = 0, set()
    while mark := MARK.search(words, place):
        match = None if mark[1] in unclosed else GIVEN.match(words, mark.start())
        if match:
            yield match
        else:
            unclosed.add(mark[1])
        place = (match or mark).end()


def wants_tools(request: Request) -> bool:
    """Whether tools are to be used for what the text says."""
    return USE_TOOLS.search(request.instructions) is not None


def answer(request: Request) -> str:
    """What the simulator says to such a request."""
    for rule in _RULES:
        words = rule(request)
        if words is not None:
            return words
    return _read(request)


def _choice(request: Request) -> str | None:
    """The options that the text speaks of, by their names and hints; the last one if it speaks of none."""
    match = CHOOSE.search(request.instructions)
    if not match:
        return None
    options = match["options"].split(", ")
    hints = {hint["option"]: hint["words"] for hint in HINT.finditer(request.instructions)}
    text = WORD.findall(request.text.lower())
    scores = {option: _speaks_of(text, [option, *WORD.findall(hints.get(option, "").lower())]) for option in options}
    best = max(scores.values())
    if not best:
        return options[-1]
    if match["most"].lower() == "one":
        return next(option for option in options if scores[option] == best)
    return ", ".join(option for option in options if scores[option])


def _members(request: Request) -> str | None:
    match = MEMBERS.search(request.instructions)
    if not match:
        return None
    return strict_json.dump({name: value_of(name, request.text) for name in match["names"].split(", ")}).decode()


def _letter(request: Request) -> str | None:
    if not COMPOSE.search(request.instructions):
        return None
    name = value_of("name", request.text)
    return f"Hello {name},\n\n{request.notes}" if name else f"Hello,\n\n{request.notes}"


def _read(request: Request) -> str:
    words = (request.text or request.notes).split()
    return f"I have read: {' '.join(words[:FIRST_WORDS])}{' …' if len(words) > FIRST_WORDS else ''}"


_RULES: tuple[Callable[[Request], str | None], ...] = (_choice, _members, _letter)


def value_of(name: str, text: str) -> str | int | None:
    """What the text has under a name."""
    words = set(WORD.findall(name.lower().replace("_", " ")))
    for kinds, pattern in VALUES:
        match = pattern.search(text) if words & kinds else None
        if match:
            value = match["value"]
            number = value.lower()
            if number in NUMBERS:
                return NUMBERS.index(number) + 1
            return int(value) if value.isdigit() else value
    return None


def place_of(name_words: Sequence[str], text: str) -> int | None:
    """Where the text first has a word that begins with the first of these; None if it has none."""
    found = re.search(rf"\b{re.escape(name_words[0])}", text.lower()) if name_words else None
    return found.start() if found else None


def arguments_for(required: Sequence[str], optional: Sequence[str], text: str) -> dict[str, Any] | None:
    """Values of the text for the arguments of a tool; None if a required one has none."""
    given = {name: value_of(name, text) for name in (*required, *optional)}
    if any(given[name] is None for name in required):
        return None
    return {name: value for name, value in given.items() if value is not None}


def _speaks_of(text: Sequence[str], hints: Sequence[str]) -> int:
    return sum(any(word.startswith(hint) for word in text) for hint in dict.fromkeys(hints))
