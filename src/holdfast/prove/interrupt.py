"""Cutting a run short: it still cleans up and reports."""

import asyncio
import signal


def cancel_on_signals() -> None:
    """From now on SIGINT and SIGTERM cancel the running task."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
