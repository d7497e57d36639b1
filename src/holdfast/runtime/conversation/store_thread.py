"""A store for callers without an event loop: it is open on a thread of its own, which has a loop.

A process opens each store once, at its first use, and keeps it open until it ends. A process that was forked opens its
own.
"""

import asyncio
import concurrent.futures.thread  # noqa: F401 - the end of its threads is registered first, and comes after ours
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.core.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.store import Store

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class StoreThread:
    """An open store and its thread."""

    def __init__(self, url: str) -> None:
        self.last_work: list[Callable[[], Coroutine[Any, Any, Any]]] = []
        """What is done before the store is closed."""
        self._begun: set[asyncio.Future[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="holdfast-store", daemon=True)
        self._thread.start()
        try:
            self.store: Store = self.run(_opened(url))
        except BaseException:
            self._stop()
            raise

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of some work on the store; for any thread but its own."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def run_async(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The same for callers with a loop of their own."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def submit(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Begin some work and wait for nothing; for any thread, and none begins once the store is closed."""

        def begin() -> None:
            task = asyncio.ensure_future(work())
            self._begun.add(task)
            task.add_done_callback(self._forget)

        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(begin)

    def _forget(self, task: asyncio.Future[Any]) -> None:
        self._begun.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("what was left to do for a conversation failed: %s", error)

    def close(self) -> None:
        """Do what is left to do before the end, acknowledge what is queued, and end."""
        self.run(self._end())
        self._stop()

    async def _end(self) -> None:
        for work in list(self.last_work):
            with suppress(HoldfastError):
                await work()
        await self.store.close()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class StoreThreads:
    """The stores that this process has open, by URL."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, StoreThread] = {}

    def open(self, url: str) -> StoreThread:
        """The store at a URL, which is opened at its first use."""
        with self._lock:
            if url not in self._open:
                self._open[url] = StoreThread(url)
            return self._open[url]

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            for thread in self._open.values():
                thread.close()
            self._open.clear()

    def forget(self) -> None:
        """In a process that was forked: the threads are the parent's."""
        self._lock = threading.Lock()
        self._open = {}


STORES = StoreThreads()
"""Those of this process."""
# `atexit` comes too late: by then nothing can be run in a thread, and a store is closed in one.
threading._register_atexit(STORES.close)  # type: ignore[attr-defined]
os.register_at_fork(after_in_child=STORES.forget)


async def _opened(url: str) -> "Store":
    from holdfast.store import open_store

    return await open_store(url)
