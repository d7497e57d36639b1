"""Where a program can be made to die, for tests: `APP_CRASH_AT=point` kills it there with a real SIGKILL.

`point*2` kills it at the second time. What was written before is then all that a restart has.
"""

import os
import signal

VARIABLE = "APP_CRASH_AT"


class CrashPoints:
    """The points of a program, each of which is named once; an unknown one is refused, so that no test kills nobody."""

    def __init__(self, points: tuple[str, ...], asked: str | None = None) -> None:
        self.points = points
        named, _, times = (asked if asked is not None else os.environ.get(VARIABLE, "")).partition("*")
        if named and named not in points:
            raise SystemExit(f"{VARIABLE} has no point {named!r}; there are: {', '.join(points)}")
        self._due = named
        self._left = int(times or 1)

    def reached(self, point: str) -> None:
        """Die here if that was asked for."""
        assert point in self.points, point
        if point == self._due:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
