"""Trying a model again: a bounded number of times, after a pause that grows, or that the endpoint asked for.

Only what passes by itself is tried again, and never once a piece of the answer has been given away: the pieces of two
answers would run into one.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from holdfast.core.retry import Backoff
from holdfast.models.errors import ModelBusy, ModelError, ModelUnreachable

OVERLOADED = 529
BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, OVERLOADED})
PASSING = BUSY | {HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.BAD_GATEWAY}

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Retries:
    """How often to try again, and how long to wait at most; an endpoint that asks for longer is not waited for."""

    times: int = 3
    first_pause: float = 0.5
    longest_pause: float = 30.0

    def pause(self, error: ModelError, tried: int) -> float | None:
        """The seconds to wait after so many tries; None if it is not to be tried again."""
        if tried > self.times or not _passes(error):
            return None
        asked = error.details.get("retry_after")
        if asked is not None:
            return float(asked) if asked <= self.longest_pause else None
        return Backoff(self.first_pause, self.longest_pause).spread_pause(tried)

    async def complete(self, attempt: Callable[[], Awaitable[Item]]) -> Item:
        """The result of the first attempt that has one; the last one's error."""
        tried = 0
        while True:
            try:
                return await attempt()
            except ModelError as error:
                tried += 1
                pause = self.pause(error, tried)
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def stream(self, attempt: Callable[[], AsyncGenerator[Item]]) -> AsyncIterator[Item]:
        """The items of the first attempt that has one, until that attempt ends or fails."""
        tried, begun = 0, False
        while True:
            try:
                async with aclosing(attempt()) as items:
                    async for item in items:
                        begun = True
                        yield item
                return
            except ModelError as error:
                tried += 1
                pause = None if begun else self.pause(error, tried)
                if pause is None:
                    raise
            await asyncio.sleep(pause)


def _passes(error: ModelError) -> bool:
    if isinstance(error, ModelUnreachable):
        return not error.details.get("timed_out")
    return isinstance(error, ModelBusy) or error.details.get("model_status") in PASSING
