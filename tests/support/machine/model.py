"""What may be in a store after the steps that were made: the plain rule, told without knowing how the store works.

A step that was acknowledged is there once. One that was refused is not there. One with an unknown outcome is there once
or not at all, until a retry is acknowledged; a later refusal says nothing about the first try. What was erased, or may
have been, need not say anything any more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from tests.support.machine.calls import EVENTS, NEW_SESSIONS, is_of, memory_name
from tests.support.machine.plan import Step

from holdfast.core import Event


class Outcome(Enum):
    """What the caller was told."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class World:
    """What is in a store: logs of sessions that live or are archived, and the values that memories had."""

    live: frozenset[str]
    gone: frozenset[str]
    logs: Mapping[str, Sequence[Event]]
    memories: Mapping[tuple[str, str], Sequence[bytes | None]]


@dataclass(slots=True)
class Model:
    """The outcomes of one engine's steps."""

    steps: dict[int, Step] = field(default_factory=dict)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    erased: set[int] = field(default_factory=set)

    def note(self, step: Step, told: Outcome) -> None:
        """A step was made, for the first time or again."""
        self.steps[step.number] = step
        before = self.outcomes.get(step.number, Outcome.REFUSED)
        if before is Outcome.REFUSED or told is Outcome.ACKNOWLEDGED:
            self.outcomes[step.number] = told
        if told is not Outcome.REFUSED and step.what == "erase" and step.of is not None:
            self.erased.add(step.of.number)
        if told is not Outcome.REFUSED and step.what == "erase memory":
            written = (other for other in self.steps.values() if other.what == "remember")
            self.erased |= {other.number for other in written if memory_name(other) == memory_name(step)}

    def violations(self, world: World) -> list[str]:
        """What is there and must not be, or is not there and must be."""
        found = []
        for number, step in self.steps.items():
            count, whole = self._count(step, world)
            if count is None:
                continue
            allowed = {Outcome.ACKNOWLEDGED: {whole}, Outcome.REFUSED: {0}, Outcome.UNKNOWN: {0, whole}}
            outcome = self.outcomes[number]
            may = set(range(whole + 1)) if number in self.erased else allowed[outcome]
            if count not in may:
                found.append(f"{step.what} {step.mark} of {step.session}: {outcome.value}, and there {count} times")
        for session, log in world.logs.items():
            if [event.seq for event in log] != list(range(1, len(log) + 1)):
                found.append(f"gap in the log of {session}")
        return found

    def _count(self, step: Step, world: World) -> tuple[int | None, int]:
        """How often a step is there, and how often if it is there at all; None if nobody can tell."""
        if step.what in EVENTS:
            log = world.logs.get(step.session, ())
            return sum(is_of(step, event) for event in log), EVENTS[step.what][1]
        if step.what in NEW_SESSIONS:
            return int(step.mark in world.live), 1
        if step.what == "delete":
            return int(step.session in world.gone), 1
        if step.what == "remember":
            values = world.memories.get(memory_name(step), ())
            return sum(value is not None and f'"{step.mark}"'.encode() in value for value in values), 1
        return None, 0
