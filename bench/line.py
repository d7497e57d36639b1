"""A line of the report: one number, its goal, and whether it holds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

One = TypeVar("One")
Other = TypeVar("Other")


@dataclass(frozen=True, slots=True)
class Effort:
    """How long and how often to measure, and where the files go; `quick` where only a part need be done; `minutes` for
    what is watched for longer."""

    repeats: int
    seconds: float
    folder: Path
    quick: bool = False
    minutes: float = 1.0


@dataclass(frozen=True, slots=True)
class Line:
    """One number. Exactly one of `at_least` and `at_most` is set; `value` is None if it was not measured."""

    name: str
    what: str
    unit: str
    value: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    beside: dict[str, float] = field(default_factory=dict)
    """What else was seen: the two sides of a ratio, percentiles."""
    note: str = ""
    curve: Sequence[Mapping[str, float]] = ()
    """How it changes with something: points, of which the first member is that something."""

    @property
    def holds(self) -> bool | None:
        """Whether the goal is met; None if it was not measured."""
        if self.value is None:
            return None
        if self.at_least is not None:
            return self.value >= self.at_least
        return self.at_most is None or self.value <= self.at_most

    @property
    def goal(self) -> str:
        """The goal in words."""
        return f"≥ {self.at_least:,g} {self.unit}" if self.at_least is not None else f"≤ {self.at_most:,g} {self.unit}"

    @property
    def reached(self) -> float | None:
        """How much of the goal is met: 1 is all of it."""
        if not self.value:
            return None
        return self.value / self.at_least if self.at_least is not None else (self.at_most or 0) / self.value

    def as_json(self) -> dict[str, Any]:
        """The line as data."""
        return {**asdict(self), "goal": self.goal, "holds": self.holds}


Measurement = Callable[[Effort], list[Line]]


def in_turns(repeats: int, one: Callable[[], One], other: Callable[[], Other]) -> list[tuple[One, Other]]:
    """Run the two sides in turns: what disturbs one of a pair disturbs the other."""
    return [(one(), other()) for _ in range(repeats)]


def ratio(pairs: Sequence[tuple[float, float]]) -> float:
    """The median over the rounds of the first side as a multiple of the second."""
    return median(one / other for one, other in pairs)
