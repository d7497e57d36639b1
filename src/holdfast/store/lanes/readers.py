"""Readers: a few threads, each with its own connection, that run reads over snapshots.

A thread takes reads of its own length first, and shorter ones when it has none of those: so short reads never wait
for long ones, nor are long ones put off for ever. Whose turn it is among them, `shares` says. A read whose caller has
gone is not begun, and one that runs is ended. Of threads that are alike, one that has read before, and so has its
connection, comes before one that has not: reads of a length that never come together need no second connection.
"""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from holdfast.core.errors import Closing
from holdfast.store.engine import Engine, Reader, Tx
from holdfast.store.lanes.shares import QueuedRead, ReadLength, Shares, current_caller
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

AGAIN_SECONDS, AGAIN_AT_MOST_SECONDS = 0.05, 1.0
"""After which a read that goes on is interrupted once more: at first, and after some times."""
THREADS = (ReadLength.LOOK, ReadLength.PAGE, ReadLength.LONG, ReadLength.LONG, ReadLength.LONG)
"""The longest reads that each thread does."""


class Worker:
    """One thread: what it may do, and what it does."""

    def __init__(self, length: ReadLength, reader: Reader) -> None:
        self.length = length
        self.reader = reader
        self.woken: SimpleQueue[None] = SimpleQueue()
        self.has_read = False
        self._read: QueuedRead | None = None
        self._changing = threading.Condition()

    def snapshot(self, read: QueuedRead) -> Any:
        """The read's result; from here on it can be ended, and from the end on it cannot."""
        self._read = read
        self.has_read = True
        try:
            return self.reader.snapshot(read.run, lambda: read.gone)
        finally:
            with self._changing:
                self._read = None
                self._changing.notify_all()

    def end(self, read: QueuedRead) -> None:
        """End the read if it is the one that runs, and never the next one. Blocks until it has ended.

        An interrupt that comes when no statement has quite begun is lost, so it is repeated.
        """
        pause = AGAIN_SECONDS
        with self._changing:
            while self._read is read:
                self.reader.interrupt()
                self._changing.wait(pause)
                pause = min(pause * 2, AGAIN_AT_MOST_SECONDS)


class Readers:
    """Runs reads, each on the first thread that may."""

    def __init__(self, engine: Engine, tuning: StoreTuning = DEFAULT_TUNING) -> None:
        self._lock = threading.Lock()
        self._shares = [Shares(sum(most >= length for most in THREADS), tuning) for length in ReadLength]
        self._running: dict[QueuedRead, Worker] = {}
        self._idle: list[Worker] = []
        self._closed = False
        self._threads = [
            threading.Thread(target=self._serve, args=(worker,), name=f"holdfast-reader-{number}", daemon=True)
            for number, worker in enumerate([Worker(length, engine.reader()) for length in THREADS])
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """How many reads wait for their turn."""
        return sum(shares.waiting for shares in self._shares)

    async def run(
        self, fn: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG, *, tenant: str | None = None
    ) -> Any:
        """The result of `fn` over one consistent view of the store; Busy if too many wait already."""
        read = QueuedRead(fn, length, tenant, current_caller(), asyncio.get_running_loop().create_future())
        with self._lock:
            if self._closed:
                raise Closing("the store is closed")
            self._shares[length].add(read)
            self._wake(length)
        try:
            return await read.future
        except asyncio.CancelledError:
            self._leave(read)
            raise
        finally:
            del read  # an error's trace leads here: it must not keep what keeps it

    def close(self) -> None:
        """Finish what is queued, then end the threads and their connections. Blocks."""
        with self._lock:
            self._closed = True
            for worker in self._idle:
                worker.woken.put(None)
        for thread in self._threads:
            thread.join()

    def _leave(self, read: QueuedRead) -> None:
        """Nobody waits for this read any more."""
        read.gone = True
        with self._lock:
            self._shares[read.length].drop(read)
            worker = self._running.get(read)
        if worker is not None:
            threading.Thread(target=worker.end, args=(read,), name="holdfast-interrupt", daemon=True).start()

    def _serve(self, worker: Worker) -> None:
        while (read := self._next(worker)) is not None:
            result: Any = None
            error: Exception | None = None
            try:
                result = None if read.gone else worker.snapshot(read)
            except worker.reader.errors as failure:
                error = worker.reader.explain(failure)
            except Exception as failure:
                error = failure
            self._done(read, worker)
            try:
                read.future.get_loop().call_soon_threadsafe(_answer, read.future, result, error)
            except RuntimeError:
                continue  # the loop was closed; its callers are gone
            finally:
                del read, result, error
        worker.reader.close()

    def _next(self, worker: Worker) -> QueuedRead | None:
        """What the thread does next, once there is something; None at the end."""
        while True:
            with self._lock:
                for length in range(worker.length, -1, -1):
                    read = self._shares[length].take()
                    if read is not None:
                        self._running[read] = worker
                        if worker in self._idle:
                            self._idle.remove(worker)
                        return read
                if self._closed:
                    return None
                if worker not in self._idle:
                    self._idle.append(worker)
            worker.woken.get()

    def _done(self, read: QueuedRead, worker: Worker) -> None:
        """The thread is free before anybody is answered: whoever asks again at once finds it so."""
        with self._lock:
            del self._running[read]
            self._shares[read.length].done(read)
            self._idle.append(worker)
            for length, shares in zip(ReadLength, self._shares, strict=True):
                if shares.waiting:  # another of the same tenant may run now
                    self._wake(length)

    def _wake(self, length: ReadLength) -> None:
        """Have a thread look for a read of this length, the one that can do the least else; of several such, one that
        has read before."""
        suitable = [worker for worker in self._idle if worker.length >= length]
        if suitable:
            worker = min(suitable, key=lambda each: (each.length, not each.has_read))
            self._idle.remove(worker)
            worker.woken.put(None)


def _answer(future: "asyncio.Future[Any]", result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
