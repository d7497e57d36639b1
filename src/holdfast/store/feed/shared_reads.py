"""Reads that many want at the same moment, made once.

Whoever asks shares a read that begins after they asked, so that nobody is given less than there was when they asked;
while one is under way, all who come share the next. A read that nobody waits for any more is given up.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Found = TypeVar("Found")


class SharedReads(Generic[Found]):
    """The reads of one loop; what is found is shared, so nobody may change it."""

    def __init__(self) -> None:
        self._next: dict[Hashable, asyncio.Task[Found]] = {}
        self._under_way: dict[Hashable, asyncio.Task[Found]] = {}
        self._asking: dict[asyncio.Task[Found], int] = {}

    async def read(self, key: Hashable, look: Callable[[], Awaitable[Found]]) -> Found:
        """What `look` finds; the key names what it looks for."""
        task = self._next.get(key)
        if task is None:
            task = self._next[key] = asyncio.create_task(self._look(key, look))
            self._asking[task] = 0
        self._asking[task] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._asking[task] -= 1
            if not self._asking[task]:
                del self._asking[task]
                if self._next.get(key) is task:
                    del self._next[key]
                task.cancel()

    async def _look(self, key: Hashable, look: Callable[[], Awaitable[Found]]) -> Found:
        while (before := self._under_way.get(key)) is not None:
            await asyncio.wait((before,))
        task = self._under_way[key] = self._next.pop(key)
        try:
            return await look()
        finally:
            if self._under_way.get(key) is task:
                del self._under_way[key]
