"""Turns with rests: whoever keeps the interpreter lets others have it for as long.

What parses or merges large JSON keeps the interpreter while it does, whatever thread it is on. So each owner has one
such piece of work at a time, and between two of them as much time passes as the first took: an owner with any number of
large requests has half of the interpreter at most. One that comes alone never waits.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

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
            loop.call_later(min(time.monotonic() - began, MOST_SECONDS), lock.release)
