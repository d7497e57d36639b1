"""What a lane has done since it began: counted by its own thread, read by whoever likes, exact to the last commit."""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import ClassVar

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


@dataclass(slots=True)
class LaneCounts:
    """Commits and how long they took, the writes and events in them, and what failed, by the code of the error."""

    bounds: ClassVar[tuple[float, ...]] = BOUNDS
    """Of the time that a commit takes, in seconds."""

    writes: int = 0
    events: int = 0
    seconds: float = 0.0
    commits_by_time: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    """How many took at most each of the bounds, and more than the last; each commit is counted once."""
    failures: dict[str, int] = field(default_factory=dict)

    def committed(self, writes: int, seconds: float) -> None:
        """A group of writes was committed."""
        self.writes += writes
        self.seconds += seconds
        self.commits_by_time[bisect_left(BOUNDS, seconds)] += 1

    def failed(self, code: str) -> None:
        """A write was not made, for no fault of its own."""
        self.failures[code] = self.failures.get(code, 0) + 1
