"""Trying again: how long to pause before it, and what a server's Retry-After says about that.

Pauses double from try to try up to a bound. Where many may try again at the same moment, each takes a part of its
pause at random, so that they do not come all at once.
"""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from holdfast.core.errors import Busy, HoldfastError, OutcomeUnknown, StorageFull, StoreUnavailable

PASSING = (Busy, OutcomeUnknown, StorageFull, StoreUnavailable)
"""What the store refuses now and may take a moment later."""
UNAVAILABLE = 503
SECONDS_AT_LEAST = 1
"""What a client is asked to wait that may try again, if nobody knows better."""
LONGEST_ASKED = 10.0**9
MOST_DOUBLINGS = 60

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses that grow from `first` to `longest`, in whatever unit these are."""

    first: float
    longest: float = math.inf

    def pause(self, tries: int) -> float:
        """How long to wait after so many tries."""
        return min(self.first * 2.0 ** min(tries - 1, MOST_DOUBLINGS), self.longest)

    def spread_pause(self, tries: int, chance: Callable[[], float] = random.random) -> float:
        """The same, or down to half of it, as `chance` has it."""
        return self.pause(tries) * (0.5 + chance() / 2)


WRITES = Backoff(0.05, 1.0)


async def until_written(write: Callable[[], Awaitable[Result]]) -> Result:
    """The result of a write that may safely be tried more than once; only a refusal or a dead store ends it."""
    tries = 0
    while True:
        try:
            return await write()
        except PASSING:
            tries += 1
            await asyncio.sleep(WRITES.pause(tries))


def asked_pause(retry_after: str | None) -> float | None:
    """The seconds that a Retry-After header asks for, as a number or a date; None if it says neither."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_ASKED)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def retry_after(error: HoldfastError) -> int | None:
    """The seconds after which a client may try again what ended with this error; None if that would not help."""
    asked: int | None = error.details.get("retry_after")
    return SECONDS_AT_LEAST if asked is None and error.status == UNAVAILABLE else asked
