"""Writing what must be written: again and again while the store is busy, away or full."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from holdfast.core.errors import Busy, OutcomeUnknown, StorageFull, StoreUnavailable

PASSING = (Busy, OutcomeUnknown, StorageFull, StoreUnavailable)
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0

Result = TypeVar("Result")


async def until_written(write: Callable[[], Awaitable[Result]]) -> Result:
    """The result of a write that may safely be tried more than once; only a refusal or a dead store ends it."""
    pause = FIRST_PAUSE
    while True:
        try:
            return await write()
        except PASSING:
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
