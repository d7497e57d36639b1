"""Answers to hot queries, kept for as long as nothing was committed: never less than what was acknowledged.

An answer is kept with the moment it holds for (see `store.feed.commit_versions`), and given again only at that moment.
Whoever asks while the same is being read shares the next read, which begins after they asked; so that however many
ask, no more than one reads; and when all of them have gone, none does. What is kept is bounded by its bytes, and what
nobody asked for the longest goes first.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple

from holdfast.gateway.api.answers import Answer
from holdfast.store import ReadLength, Store, StoreSnapshot

MOST_BYTES = 32 * 1024 * 1024
LARGEST = 1024 * 1024
"""What is larger is read again each time."""
OVERHEAD = 500
"""Bytes that an answer takes beside its own."""


class PendingRead:
    """A read that several wait for."""

    def __init__(self, task: asyncio.Task[Answer]) -> None:
        self.task = task
        self.waiting = 0


class CachedAnswer(NamedTuple):
    """An answer, and the moment it holds for."""

    moment: str
    answer: Answer


Key = tuple[Hashable, ...]
Look = Callable[[StoreSnapshot], Answer]


class Cache:
    """The answers that one gateway keeps, of all tenants."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.hits = 0
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Key, CachedAnswer] = OrderedDict()
        self._next: dict[Key, PendingRead] = {}
        self._reading: dict[Key, asyncio.Lock] = {}

    @property
    def size(self) -> int:
        """The bytes of all that is kept."""
        return self._bytes

    async def answer(self, store: Store, key: Key, look: Look, length: ReadLength = ReadLength.LONG) -> Answer:
        """What `look` finds in the store now; the key names the query, within the store's tenant."""
        key = (store.tenant, *key)
        kept = self._kept.get(key)
        if kept is not None and kept.moment == store.commit_versions.now():
            return self._again(key, kept)
        shared = self._next.get(key)
        if shared is None:
            shared = self._next[key] = PendingRead(asyncio.create_task(self._look(store, key, look, length)))
            shared.task.add_done_callback(_heard)
        shared.waiting += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if not shared.waiting:
                self._leave(key, shared)

    def _leave(self, key: Key, shared: PendingRead) -> None:
        """Nobody waits for this read any more, if it has not ended."""
        shared.task.cancel()
        if self._next.get(key) is shared:
            del self._next[key]

    async def _look(self, store: Store, key: Key, look: Look, length: ReadLength) -> Answer:
        reading = self._reading.setdefault(key, asyncio.Lock())
        try:
            async with reading:
                del self._next[key]  # it begins now: whoever comes from here on needs the one after it
                kept = self._kept.get(key)
                moment, found = await store.commit_versions.reread(kept.moment if kept else None, look, length)
                if found is None:
                    assert kept is not None
                    return self._again(key, kept)
                self._keep(key, CachedAnswer(moment, found))
                return found
        finally:
            if key not in self._next and not reading.locked():
                self._reading.pop(key, None)

    def _again(self, key: Key, kept: CachedAnswer) -> Answer:
        self.hits += 1
        if key in self._kept:
            self._kept.move_to_end(key)
        return kept.answer

    def _keep(self, key: Key, kept: CachedAnswer) -> None:
        self._drop(key)
        if len(kept.answer.body) > LARGEST:
            return
        self._kept[key] = kept
        self._bytes += _size(kept)
        while self._bytes > self._most_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Key) -> None:
        dropped = self._kept.pop(key, None)
        if dropped is not None:
            self._bytes -= _size(dropped)


def _size(kept: CachedAnswer) -> int:
    return len(kept.answer.body) + len(kept.moment) + OVERHEAD


def _heard(task: asyncio.Task[Answer]) -> None:
    """A failure that nobody waited for is nobody's."""
    if not task.cancelled():
        task.exception()
