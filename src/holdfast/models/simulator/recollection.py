"""Where a fact is looked for: who said it decides whether it is believed, and the latest word counts.

Asked plainly, the user's own words outrank what a tool brought back, and nothing else is believed. Asked for what is
in memory, the memory tool's result of this turn counts, then what the runtime put into the prompt; the conversation
counts only if no tool could be asked, so that a memory that lost a fact shows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.models.messages import Role
from holdfast.models.simulator.facts import Fact, same, stated
from holdfast.models.simulator.prompt import Heard
from holdfast.models.simulator.results import facts_in


@dataclass(frozen=True, slots=True)
class Source:
    """Where an answer has a fact from: the message's place in the prompt, its role, and its words."""

    thing: str
    value: str
    index: int
    role: Role
    words: str


def from_conversation(thing: str, heard: Sequence[Heard]) -> Source | None:
    """A fact that the user told, or that a tool brought back."""
    return latest(thing, _by_user(heard)) or latest(thing, _by(Role.TOOL, heard))


def from_memory(thing: str, heard: Sequence[Heard], results: Sequence[Heard], *, asked_a_tool: bool) -> Source | None:
    """A fact that is in memory, as far as the prompt shows it."""
    found = latest(thing, results) or latest(thing, _by(Role.SYSTEM, heard))
    return found if found or asked_a_tool else from_conversation(thing, heard)


def latest(thing: str, heard: Iterable[Heard]) -> Source | None:
    """The latest statement of a fact in what was heard."""
    for said in reversed(list(heard)):
        for fact in reversed(_facts(said)):
            if same(fact.thing, thing):
                return Source(fact.thing, fact.value, said.index, said.role, said.words)
    return None


def _facts(said: Heard) -> list[Fact]:
    return facts_in(said) if said.role == Role.TOOL else stated(said.words)


def _by_user(heard: Sequence[Heard]) -> list[Heard]:
    """The user's own words, and the summaries that stand for them."""
    return [said for said in heard if said.role == Role.USER or said.summary]


def _by(role: Role, heard: Sequence[Heard]) -> list[Heard]:
    return [said for said in heard if said.role == role and not said.summary]
