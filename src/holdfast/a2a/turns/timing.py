"""How long the turns of an agent wait for what: all times of one process in one place.

Servers on one store need not have the same times, but a server must say that it lives, and renew its leases, several
times in the time for which the others believe it.
"""

from dataclasses import dataclass

LEASE_MS = 4_000
"""How long a session is held by one who does not renew its lease."""


@dataclass(frozen=True, slots=True)
class TurnTiming:
    """The times of one process; `pauses` are before each time that a turn is begun again."""

    alive_ms: int = 4_000
    """How long a server that has said that it lives is believed to."""
    round_seconds: float = 1.0
    """From one such word, and one look for what dead servers left, to the next."""
    pauses: tuple[float, ...] = (0.0, 1.0, 3.0)
    lease_ms: int = LEASE_MS
    renew_seconds: float = 1.0
    """From one renewal of a session's lease to the next."""
    look_seconds: float = 1.0
    """From one look whether another server has ended a task to the next."""
    keep_seconds: float = 0.9
    """From one record of what a turn has said so far to the next."""
    post_seconds: float = 2.0
    """How long a stop waits for posts that are under way."""
