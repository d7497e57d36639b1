"""Cutting a run short: it still cleans up and reports."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress

INTERRUPTED = "the run was interrupted"
"""Why something was not reached in a run that was cut short."""


def cancel_on_signals() -> None:
    """From now on SIGINT and SIGTERM cancel the running task."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)


def wait_until_interrupted(ending: Awaitable[object], ready: Callable[[], None]) -> None:
    """Wait for SIGINT, SIGTERM, or what comes to its end by itself; `ready` is called once a signal would be seen."""

    async def wait() -> None:
        cancel_on_signals()
        ready()
        await ending

    with suppress(asyncio.CancelledError):
        asyncio.run(wait())
