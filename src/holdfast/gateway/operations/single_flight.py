"""An answer that is kept for a moment: however many ask, the question is put once at a time, and not too often."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class SingleFlight(Generic[Answer]):
    """What a question was answered, an error too, for as long as that is fresh."""

    def __init__(self, ask: Callable[[], Awaitable[Answer]], seconds: float) -> None:
        self._ask = ask
        self._seconds = seconds
        self._asking: asyncio.Task[Answer] | None = None
        self._asked_at = 0.0

    async def get(self) -> Answer:
        """The answer; whoever stops waiting for it leaves it to the others."""
        asking = self._asking
        if asking is None or (asking.done() and time.monotonic() - self._asked_at > self._seconds):
            asking = self._asking = asyncio.create_task(self._put())
            asking.add_done_callback(_heard)
        return await asyncio.shield(asking)

    async def _put(self) -> Answer:
        try:
            return await self._ask()
        finally:
            self._asked_at = time.monotonic()


def _heard(asking: "asyncio.Task[Answer]") -> None:
    """An error that nobody waits for any more is no news."""
    if not asking.cancelled():
        asking.exception()
