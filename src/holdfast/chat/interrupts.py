"""Signals to a chat: Ctrl-C stops what runs, and never the program; a closed terminal and SIGTERM end it in order."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

Result = TypeVar("Result")
ENDS = (signal.SIGTERM, signal.SIGHUP)


def ignore_interrupts() -> None:
    """Let a Ctrl-C that comes while nothing runs do nothing."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)


async def until_ended(work: Awaitable[None]) -> int:
    """Work until it is done, or a signal ends it; the exit code."""
    loop = asyncio.get_running_loop()
    running = asyncio.ensure_future(work)
    ended: list[int] = []

    def end(sent: int) -> None:
        ended.append(sent)
        running.cancel()

    for each in ENDS:
        loop.add_signal_handler(each, end, each)
    await asyncio.wait({running})
    if ended:
        return 128 + ended[0]
    running.result()
    return 0


async def until_interrupted(work: Callable[[], Awaitable[Result]]) -> Result | None:
    """The result of some work; None if Ctrl-C, or it itself, has stopped it."""
    loop = asyncio.get_running_loop()
    running = asyncio.ensure_future(work())
    loop.add_signal_handler(signal.SIGINT, running.cancel)
    try:
        await asyncio.wait({running})
    finally:
        ignore_interrupts()
        if not running.done():
            running.cancel()
            await asyncio.wait({running})
    return None if running.cancelled() else running.result()
