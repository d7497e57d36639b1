"""Clocks that tests move. A test whose order in time matters sets the times apart: two acts may share a millisecond."""

from holdfast.core import SystemClock

DAY = 86_400_000


class SetClock:
    """A clock that stands where a test has set it."""

    def __init__(self, now: int) -> None:
        self.time = now

    def now(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        return self.time


class MovedClock:
    """The machine's clock, moved by so many milliseconds. It goes on, so leave room for a slow machine."""

    def __init__(self, ahead: int = 0) -> None:
        self.ahead = ahead

    def now(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        return SystemClock().now() + self.ahead
