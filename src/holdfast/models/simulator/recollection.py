"""Where a fact is looked for: who said it decides whether it is believed, and the latest word counts.

Asked plainly, the user's own words outrank what a tool brought back, and nothing else is believed. Asked for what is
in memory, the memory tool's result of this turn counts, then what the runtime put into the prompt; the conversation
counts only if no tool could be asked, so that a memory that lost a fact shows.

The result of a tool may be words, JSON, or the bare value that was asked for. A memory tool may bring several
statements of one fact: where each has its time, the newest counts, else the last. A value without a statement
(`{"favorite color": "blue"}`, `blue`) counts only under the name that the call asked for: anything looser would take a
tool's own words for the user's.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson
from holdfast.models.messages import PromptRole
from holdfast.models.simulator.language import Fact, same_thing, statements, told
from holdfast.models.simulator.prompt import Utterance, third_person
from holdfast.models.simulator.toolbox import MEMORY, words_of


@dataclass(frozen=True, slots=True)
class Source:
    """Where an answer has a fact from: the message's place in the prompt, its role, and its words."""

    thing: str
    value: str
    index: int
    role: PromptRole
    words: str


def from_conversation(thing: str, heard: Sequence[Utterance]) -> Source | None:
    """A fact that the user told, or that a tool brought back."""
    return latest(thing, _by_user(heard)) or latest(thing, _by(PromptRole.TOOL, heard))


def from_memory(
    thing: str, heard: Sequence[Utterance], results: Sequence[Utterance], *, asked_a_tool: bool
) -> Source | None:
    """A fact that is in memory, as far as the prompt shows it."""
    found = latest(thing, results) or latest(thing, _by(PromptRole.SYSTEM, heard))
    return found if found or asked_a_tool else from_conversation(thing, heard)


def latest(thing: str, heard: Iterable[Utterance]) -> Source | None:
    """The latest statement of a fact in what was heard; None if the user has taken it back since."""
    for said in reversed(list(heard)):
        for fact in reversed(_facts(said)):
            if same_thing(fact.thing, thing):
                if not fact.value:
                    return None
                return Source(fact.thing, fact.value, said.index, said.role, said.words)
    return None


def _facts(said: Utterance) -> list[Fact]:
    return facts_in(said) if said.role == PromptRole.TOOL else told(said.words)


def _by_user(heard: Sequence[Utterance]) -> list[Utterance]:
    """The user's own words, and the summaries that stand for them."""
    return [said for said in heard if said.role == PromptRole.USER or said.summary]


def _by(role: PromptRole, heard: Sequence[Utterance]) -> list[Utterance]:
    return [said for said in heard if said.role == role and not said.summary]


TIMES = ("updated_at", "updatedAt", "created_at", "createdAt", "timestamp", "time", "at", "date")
BARE = re.compile(r"\w[\w.@+-]*(?: \w[\w.@+-]*){0,3}")
NOTHING = re.compile(r"\b(?:no|not|none|nothing|null|unknown|error|missing|empty)\b", re.IGNORECASE)

Dated = tuple[str, Fact]


def facts_in(result: Utterance) -> list[Fact]:
    """The facts that a result states, oldest first."""
    asked = _asked(result)
    try:
        value = strict_json.parse(result.words.encode())
    except InvalidJson:
        return _in_words(result.words, asked)
    found = list(_in_value(value, asked, ""))
    found.sort(key=lambda dated: dated[0])
    return [fact for _, fact in found] or _in_words(result.words, asked)


def _asked(result: Utterance) -> list[str]:
    """The names that a memory tool was called with."""
    if not result.call or not words_of(result.call.name) & MEMORY:
        return []
    return [value for value in result.call.arguments.values() if isinstance(value, str)]


def _in_words(words: str, asked: Sequence[str]) -> list[Fact]:
    found = statements(third_person(words))
    if found:
        return found
    for line in words.splitlines():
        name, _, value = line.strip(" \t-*•").replace("=", ":", 1).partition(":")
        found += [
            Fact(thing, value.strip(" .\"'")) for thing in asked if value.strip() and same_thing(_spaced(name), thing)
        ]
    bare = words.strip(" .\"'\n")
    if not found and BARE.fullmatch(bare) and not NOTHING.search(bare):
        found = [Fact(thing, bare) for thing in asked[:1]]
    return found


def _in_value(value: Any, asked: Sequence[str], time: str) -> Iterator[Dated]:
    if isinstance(value, str):
        yield from ((time, fact) for fact in statements(third_person(value)))
    elif isinstance(value, list):
        for item in value:
            yield from _in_value(item, asked, time)
    elif isinstance(value, dict):
        # Times compare as text: a list has them all in one form.
        time = next((f"{value[key]:>20}" for key in TIMES if isinstance(value.get(key), int | str)), time)
        pairs = [(value.get("key"), value.get("value")), *value.items()]
        for name, item in pairs:
            if isinstance(name, str) and isinstance(item, str) and not statements(item):
                yield from ((time, Fact(thing, item)) for thing in asked if same_thing(_spaced(name), thing))
        for item in value.values():
            yield from _in_value(item, asked, time)


def _spaced(name: str) -> str:
    return name.strip(" \"'`").replace("_", " ")
