"""Readers: a few threads, each with its own connection, that run reads over snapshots."""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from holdfast.core.errors import Closing
from holdfast.store.engine import Engine, Reader, Tx

Job = tuple[Callable[[Tx], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Readers:
    """Runs reads on whichever thread is free."""

    def __init__(self, engine: Engine) -> None:
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._closed = False
        connections = [engine.reader() for _ in range(engine.readers)]
        self._threads = [
            threading.Thread(target=self._serve, args=(reader,), name=f"holdfast-reader-{number}", daemon=True)
            for number, reader in enumerate(connections)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, fn: Callable[[Tx], Any]) -> Any:
        """The result of `fn` over one consistent view of the store."""
        if self._closed:
            raise Closing("the store is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._queue.put((fn, loop, future))
        return await future

    def close(self) -> None:
        """Finish what is queued, then end the threads and their connections. Blocks."""
        self._closed = True
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self, reader: Reader) -> None:
        while (job := self._queue.get()) is not None:
            fn, loop, future = job
            result: Any = None
            error: Exception | None = None
            try:
                result = reader.snapshot(fn)
            except reader.errors as failure:
                error = reader.explain(failure)
            except Exception as failure:
                error = failure
            try:
                loop.call_soon_threadsafe(_answer, future, result, error)
            except RuntimeError:
                continue  # the loop was closed; its callers are gone
        reader.close()


def _answer(future: "asyncio.Future[Any]", result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
