"""Facts in the result of a tool, which may be words, JSON, or the bare value that was asked for.

A memory tool may bring several statements of one fact: where each has its time, the newest counts, else the last.
A value without a statement (`{"favorite color": "blue"}`, `blue`) counts only under the name that the call asked
for: anything looser would take a tool's own words for the user's.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.models.simulator.facts import Fact, same, stated
from holdfast.models.simulator.prompt import Heard, third_person
from holdfast.models.simulator.toolbox import MEMORY, words_of

TIMES = ("updated_at", "updatedAt", "created_at", "createdAt", "timestamp", "time", "at", "date")
BARE = re.compile(r"\w[\w.@+-]*(?: \w[\w.@+-]*){0,3}")
NOTHING = re.compile(r"\b(?:no|not|none|nothing|null|unknown|error|missing|empty)\b", re.IGNORECASE)

Dated = tuple[str, Fact]


def facts_in(result: Heard) -> list[Fact]:
    """The facts that a result states, oldest first."""
    asked = _asked(result)
    try:
        value = strict_json.parse(result.words.encode())
    except InvalidJson:
        return _in_words(result.words, asked)
    found = list(_in_value(value, asked, ""))
    found.sort(key=lambda dated: dated[0])
    return [fact for _, fact in found] or _in_words(result.words, asked)


def _asked(result: Heard) -> list[str]:
    """The names that a memory tool was called with."""
    if not result.call or not words_of(result.call.name) & MEMORY:
        return []
    return [value for value in result.call.arguments.values() if isinstance(value, str)]


def _in_words(words: str, asked: Sequence[str]) -> list[Fact]:
    found = stated(third_person(words))
    if found:
        return found
    for line in words.splitlines():
        name, _, value = line.strip(" \t-*•").replace("=", ":", 1).partition(":")
        found += [Fact(thing, value.strip(" .\"'")) for thing in asked if value.strip() and same(_spaced(name), thing)]
    bare = words.strip(" .\"'\n")
    if not found and BARE.fullmatch(bare) and not NOTHING.search(bare):
        found = [Fact(thing, bare) for thing in asked[:1]]
    return found


def _in_value(value: Any, asked: Sequence[str], time: str) -> Iterator[Dated]:
    if isinstance(value, str):
        yield from ((time, fact) for fact in stated(third_person(value)))
    elif isinstance(value, list):
        for item in value:
            yield from _in_value(item, asked, time)
    elif isinstance(value, dict):
        # Times compare as text: a list has them all in one form.
        time = next((f"{value[key]:>20}" for key in TIMES if isinstance(value.get(key), int | str)), time)
        pairs = [(value.get("key"), value.get("value")), *value.items()]
        for name, item in pairs:
            if isinstance(name, str) and isinstance(item, str) and not stated(item):
                yield from ((time, Fact(thing, item)) for thing in asked if same(_spaced(name), thing))
        for item in value.values():
            yield from _in_value(item, asked, time)


def _spaced(name: str) -> str:
    return name.strip(" \"'`").replace("_", " ")
