"""A read that nobody waits for ends, also if interrupts come at moments at which they are lost."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from holdfast.core import HoldfastError
from holdfast.store.engine import Tx
from holdfast.store.lanes.readers import Worker
from holdfast.store.lanes.shares import QueuedRead, ReadLength

LOST = 2


class HardOfHearing:
    """A reader whose reads end with the first interrupt that is not lost."""

    errors: tuple[type[Exception], ...] = ()

    def __init__(self) -> None:
        self.interrupts = 0
        self.begun, self._heard = threading.Event(), threading.Event()

    def snapshot(self, fn: Callable[[Tx], Any], gone: Callable[[], bool]) -> Any:
        self.begun.set()
        self._heard.wait()

    def interrupt(self) -> None:
        self.interrupts += 1
        if self.interrupts > LOST:
            self._heard.set()

    def explain(self, error: Exception) -> HoldfastError:
        raise error

    def close(self) -> None: ...


async def test_an_interrupt_that_was_lost_is_repeated_until_the_read_has_ended() -> None:
    reader = HardOfHearing()
    worker = Worker(ReadLength.LONG, reader)
    read = QueuedRead(lambda tx: None, ReadLength.LONG, None, None, asyncio.get_running_loop().create_future())
    running = asyncio.create_task(asyncio.to_thread(worker.snapshot, read))
    await asyncio.to_thread(reader.begun.wait)
    await asyncio.to_thread(worker.end, read)
    await running
    assert reader.interrupts == LOST + 1
    await asyncio.to_thread(worker.end, read)
    assert reader.interrupts == LOST + 1, "what comes next is not interrupted"
