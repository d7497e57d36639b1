"""How long turns of the agent take, from the moment they were accepted until they rest, by how they ended."""

from bisect import bisect_left
from dataclasses import dataclass, field

from holdfast.core import Task, TaskState

BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""In seconds."""
OUTCOMES = tuple(state for state in TaskState if not state.running)
LOST = "lost"
"""The outcome of a turn whose end could not be recorded."""


@dataclass(slots=True)
class TurnDurations:
    """Turns of one outcome."""

    seconds: float = 0.0
    by_time: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    """How many took at most each of the bounds, and more than the last; each is counted once."""


class TurnTimes:
    """The turns that this process has brought to rest."""

    def __init__(self) -> None:
        self.by_outcome = {outcome: TurnDurations() for outcome in (*(str(each) for each in OUTCOMES), LOST)}

    def rested(self, task: Task, seconds: float) -> None:
        """A turn is over, and this is its task as it was last recorded."""
        found = self.by_outcome[LOST if task.state.running else str(task.state)]
        found.seconds += seconds
        found.by_time[bisect_left(BOUNDS, seconds)] += 1
