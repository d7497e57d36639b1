"""Work that blocks, in a thread, to its end: whoever is cancelled meanwhile goes on only when it is over."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

Result = TypeVar("Result")


async def to_its_end(work: Callable[[], Result], executor: Executor | None = None) -> Result:
    """The result of work in a thread. If the caller is cancelled, the work is waited for first: nothing of it goes on
    behind the back of whoever comes next."""
    running = asyncio.get_running_loop().run_in_executor(executor, work)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait({running})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        running.exception()  # nobody asks for it
        raise cancelled
    return running.result()
