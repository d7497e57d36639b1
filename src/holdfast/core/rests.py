"""Turns with rests: whoever keeps the interpreter lets others have it for as long.

What parses or merges large JSON keeps the interpreter while it does, whatever thread it is on. So each owner has one
such piece of work at a time, and after one that was long as much time passes as it took: an owner with any number of
large requests has about half of the interpreter at most. One that comes alone never waits.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

FREE_SECONDS = 0.005
"""Of work after which there is no rest."""
MOST_SECONDS = 1.0
"""Of a rest, however long the work was."""


class Rests:
    """Whose turn it is; used from any number of loops."""

    def __init__(self) -> None:
        self._turns: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """The owner's turn; its next one comes after a rest, for which nobody waits here."""
        loop = asyncio.get_running_loop()
        lock = self._turns.setdefault((id(loop), owner), asyncio.Lock())
        await lock.acquire()
        began = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - began
            if seconds > FREE_SECONDS:
                loop.call_later(min(seconds, MOST_SECONDS), lock.release)
            else:
                lock.release()
