"""What was explored: counts, and the distinct situations in which something was done."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.prove.explore.histories.history import Course
from holdfast.prove.explore.histories.operations import (
    FAULTS,
    MESSAGES,
    Again,
    Chat,
    Kill,
    KillStart,
    Operation,
    Pause,
    Stop,
    Tell,
    kind,
)

DEPTHS = (0, 3, 10, 40)

Situation = tuple[str, str, str, int]


@dataclass(slots=True)
class Coverage:
    """How much was done so far, over all histories that came to a verdict."""

    histories: int = 0
    operations: int = 0
    kills: int = 0
    stops: int = 0
    pauses: int = 0
    situations: set[Situation] = field(default_factory=set)

    def add(self, course: Course, faults: Sequence[Operation] = ()) -> int:
        """Count a history and the faults that were done in it; how many situations are new."""
        self.histories += 1
        self.operations += len(course.operations)
        counted = Counter(type(operation) for operation in faults)
        self.kills += counted[Kill] + 2 * counted[KillStart]
        self.stops += counted[Stop]
        self.pauses += counted[Pause]
        before = len(self.situations)
        self.situations |= situations(course)
        return len(self.situations) - before


def situations(course: Course) -> set[Situation]:
    """What is done, in which way, after which fault, and how deep in its conversation."""
    found: set[Situation] = set()
    fault = "none"
    depths: Counter[int] = Counter()
    contexts = {op.message: op.context for op in course.operations if isinstance(op, MESSAGES)}
    for operation in course.operations:
        if isinstance(operation, FAULTS):
            fault = kind(operation)
        context = contexts.get(getattr(operation, "message", 0), 0)
        depth = sum(depths[context] >= least for least in DEPTHS)
        found.add((kind(operation), _way(operation), fault, depth))
        if isinstance(operation, Chat):
            depths[context] += 0 if operation.apart else operation.turns
        else:
            depths[context] += isinstance(operation, (*MESSAGES, Again))
    return found


def _way(operation: object) -> str:
    joined = "joined " if getattr(operation, "joins", False) else ""
    if isinstance(operation, Tell):
        return f"{joined}{operation.form} {operation.how}"
    if isinstance(operation, Chat) and operation.apart:
        return f"{joined}apart"
    return joined.strip()
