"""The steps of a round, drawn from a seed and nothing else: what is asked, of which session, and what breaks.

The plan does not know what becomes of a step. It asks for goals that may not be there and writes to sessions that may
be deleted, so refusals are a part of it.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.support.machine.faults import Fault, Kind

SESSIONS = 4
KEYS = 2
MEMORIES = 3
MOST_CALLS = 14
"""Faults are at one of this many calls; a step of several transactions may make more."""
BREAKS = 0.4
"""How many of the steps have a fault ahead of them."""

WEIGHTS = {
    "append": 10,
    "batch": 6,
    "child": 4,
    "expect": 4,
    "guess": 2,
    "lease append": 3,
    "patch": 6,
    "metadata": 2,
    "tag": 2,
    "finalize": 1,
    "describe": 1,
    "goal": 4,
    "goal change": 3,
    "agent": 4,
    "agent end": 5,
    "checkpoint": 3,
    "snapshot": 2,
    "compact": 2,
    "effect": 4,
    "effect end": 3,
    "usage": 3,
    "attach": 5,
    "acquire": 2,
    "renew": 1,
    "release": 1,
    "turn": 4,
    "turn change": 4,
    "answer": 2,
    "remember": 4,
    "forget": 1,
    "erase memory": 1,
    "open key": 2,
    "reset": 2,
    "fork": 2,
    "restore": 1,
    "erase": 8,
    "delete": 1,
    "again": 16,
    "group": 8,
}
GROUPED = ("append", "batch", "guess", "patch", "goal", "agent", "usage", "turn", "effect")
"""Steps that come to the lane without having read anything, so that a group has one order."""
WITHOUT_KEY = (
    *("describe", "effect end", "acquire", "renew", "release", "forget", "erase memory"),
    *("open key", "reset", "fork", "restore", "erase", "delete"),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One call. `mark` is in whatever it writes; `of` is the step whose goal, task or event this one is about."""

    number: int
    what: str
    session: str
    keyed: bool
    faults: tuple[Fault, ...] = ()
    of: "Step | None" = None
    group: tuple["Step", ...] = ()

    @property
    def mark(self) -> str:
        """A word that only this step writes."""
        return f"x{self.number}x"

    @property
    def key(self) -> str | None:
        """Its idempotency key."""
        return f"key {self.mark}" if self.keyed else None


ABOUT = {
    "goal change": "goal",
    "agent end": "agent",
    "effect end": "effect",
    "turn change": "turn",
    "answer": "turn",
    "restore": "checkpoint",
}
WITHOUT_EVENTS = frozenset(
    {"acquire", "renew", "release", "remember", "forget", "erase memory"}
    | {"open key", "reset", "fork", "restore", "erase", "delete"}
)
"""Steps that leave no event in their session that could be erased."""


@dataclass(slots=True)
class Plan:
    """Draws the steps of one round."""

    chance: random.Random
    past: dict[str, list[Step]] = field(default_factory=dict)
    sessions: list[str] = field(default_factory=lambda: [f"s{n}.0" for n in range(SESSIONS)])
    erased: set[int] = field(default_factory=set)
    number: int = 0

    def steps(self, count: int) -> Iterator[Step]:
        """So many steps; one that is a group counts for each of its calls."""
        while self.number < count:
            yield self._step(self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0], self._session())

    def _session(self) -> str:
        return self.chance.choice(self.sessions)

    def _step(self, what: str, session: str, *, grouped: bool = False) -> Step:
        faults = () if grouped else self._faults()
        if what == "group":
            kinds = self.chance.choices((*GROUPED, "again"), k=self.chance.randint(2, 5))
            parts = tuple(self._step(kind, session, grouped=True) for kind in kinds)
            return Step(self.number, what, session, False, faults, group=parts)
        if what == "again":
            return self._again(session, faults, GROUPED if grouped else tuple(WEIGHTS))
        self.number += 1
        of = self._about(what, session)
        keyed = what not in WITHOUT_KEY and self.chance.random() < 0.7
        step = Step(self.number, what, session, keyed, faults, of)
        if what == "erase" and of is not None:
            self.erased.add(of.number)
        self.past.setdefault(session, []).append(step)
        if what == "delete":
            place = self.sessions.index(session)
            self.sessions[place] = f"s{place}.{self.number}"
        return step

    def _again(self, session: str, faults: tuple[Fault, ...], kinds: tuple[str, ...]) -> Step:
        """A step that was made before, once more; another append if there is none with a key."""
        keyed = [step for step in self.past.get(session, ()) if step.keyed and step.what in kinds]
        if not keyed:
            return self._step("append", session, grouped=not faults)
        self.number += 1
        erased = [step for step in keyed if step.number in self.erased]
        first = self.chance.choice(erased if erased and self.chance.random() < 0.5 else keyed[-20:])
        return Step(first.number, first.what, first.session, True, faults, first.of)

    def _about(self, what: str, session: str) -> Step | None:
        past = self.past.get(session, [])
        if what == "erase":
            found = [step for step in past if step.what not in WITHOUT_EVENTS]
            kinds = sorted({step.what for step in found})  # each as likely as any other, however rare it is
            kind = self.chance.choice(kinds) if kinds else ""
            found = [step for step in found if step.what == kind]
        else:
            found = [step for step in past if step.what == ABOUT.get(what)]
        return self.chance.choice(found[-6:]) if found else None

    def _faults(self) -> tuple[Fault, ...]:
        if self.chance.random() >= BREAKS:
            return ()
        number = self.chance.choice((1, 1, 1, 1, 2, 2, 3, 5))
        return tuple(self._fault() for _ in range(number))

    def _fault(self) -> Fault:
        kind = self.chance.choice((Kind.LOST_BEFORE, Kind.LOST_AFTER, Kind.LOST_AFTER, Kind.REFUSED, Kind.WARNED))
        if self.chance.random() < 0.5:
            return Fault(self.chance.choice((0, 0, 0, 1, 2)), kind, commits=True)
        return Fault(self.chance.randrange(MOST_CALLS), kind)
