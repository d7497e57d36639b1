"""Waiting for what is away: a model or a tool server that comes back finds the program where it was."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from apps import models
from apps.life import RunningProgram
from apps.tool_server import ToolsAway

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0


def is_away(error: BaseException) -> bool:
    """Whether an error goes away by waiting."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_away(each) for each in error.exceptions)
    return isinstance(error, ToolsAway) or models.passes(error)


def in_words(error: BaseException) -> str:
    """What went wrong; of a group, the first that did."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:500]


async def keep_trying(program: RunningProgram, attempt: Callable[[], Awaitable[None]]) -> None:
    """Try until it is done, with longer and longer pauses for as long as nothing comes of it."""
    pause, report = FIRST_PAUSE, program.report
    while True:
        done = program.counts.get("done", 0)
        try:
            await attempt()
            return
        except Exception as error:
            if not is_away(error):
                raise
            await report.trouble(in_words(error))
        pause = FIRST_PAUSE if program.counts.get("done", 0) > done else min(pause * 2, LONGEST_PAUSE)
        with suppress(TimeoutError):
            await asyncio.wait_for(program.stopping.wait(), pause)
