"""Time enters through a Clock, so that a test can set it. All times are epoch milliseconds."""

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol

from holdfast.core.errors import InvalidInput


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        ...


class SystemClock:
    """The machine's wall clock."""

    def now(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1_000_000


def to_iso(ms: int) -> str:
    """`2026-02-13T10:00:00.000Z` for a time in milliseconds."""
    seconds, millis = divmod(ms, 1000)
    return f"{_second(seconds)}.{millis:03d}Z"


@lru_cache(maxsize=1024)
def _second(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def from_iso(text: str) -> int:
    """Milliseconds for an ISO 8601 time; one without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is not an ISO 8601 time", hint="for example 2026-02-13T10:00:00Z") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
