"""The memories of a store that is open on another thread, for callers with an event loop of their own."""

from typing import Any

from holdfast.runtime.conversation.store_thread import StoreThread
from holdfast.store.memory import Memory, MemoryHit, MemoryPage

Hits = list[MemoryHit]


class StoreMemories:
    """The memories of a project's store, as tools use them."""

    def __init__(self, thread: StoreThread) -> None:
        self._thread = thread

    async def put(
        self, namespace: str, key: str, value: Any, *, idempotency_key: str | None = None, source: str | None = None
    ) -> Memory:
        """Remember a value under a key; the same idempotency key again changes nothing."""
        memories = self._thread.store.memories
        return await self._thread.run_async(
            memories.put(namespace, key, value, idempotency_key=idempotency_key, source=source)
        )

    async def get(self, namespace: str, key: str) -> Memory:
        """The memory under a key; NotFound if there is none."""
        return await self._thread.run_async(self._thread.store.memories.get(namespace, key))

    async def search(self, query: str, *, namespace: str | None = None, limit: int = 20) -> Hits:
        """The memories with all of these words."""
        memories = self._thread.store.memories
        return await self._thread.run_async(memories.search(query, namespace=namespace, limit=limit))

    async def list(self, namespace: str, *, limit: int = 100) -> MemoryPage:
        """The first memories of a namespace, by key."""
        return await self._thread.run_async(self._thread.store.memories.list(namespace, limit=limit))
