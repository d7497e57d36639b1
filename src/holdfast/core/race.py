"""Several things at once, of which the first that ends decides: the others are cut off, and nothing of them goes on.

Whoever waits for an answer also waits for the client to leave, for the server to stop, or for a token to end. Nothing
is left behind when the race is over, also if whoever waits is cancelled.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar, overload

First = TypeVar("First")
Second = TypeVar("Second")


@overload
async def first_of(
    first: Awaitable[First], second: Awaitable[Second], /, *, patience: float | None = None
) -> "tuple[asyncio.Future[First] | None, asyncio.Future[Second] | None]": ...


@overload
async def first_of(
    *entrants: Awaitable[Any], patience: float | None = None
) -> "tuple[asyncio.Future[Any] | None, ...]": ...


async def first_of(
    *entrants: Awaitable[Any], patience: float | None = None
) -> "tuple[asyncio.Future[Any] | None, ...]":
    """Run all until one ends, then cancel the others and wait for them, with `patience` so many seconds at most; each
    of them that came to its own end, in order, and None for each that was cut off."""
    futures = [asyncio.ensure_future(entrant) for entrant in entrants]
    ended: set[asyncio.Future[Any]] = set()
    try:
        ended, _ = await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _cut_off([future for future in futures if future not in ended], patience)
    _forget_errors(ended)
    return tuple(future if future in ended else None for future in futures)


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, so many seconds at most; whether it is set."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


async def _cut_off(futures: "list[asyncio.Future[Any]]", patience: float | None) -> None:
    for future in futures:
        future.cancel()
    if futures:
        ended, _ = await asyncio.wait(futures, timeout=patience)
        _forget_errors(ended)


def _forget_errors(ended: "set[asyncio.Future[Any]]") -> None:
    """Whoever asks one of them for its result is told its error; if nobody does, that is no news for the log."""
    for future in ended:
        if not future.cancelled():
            future.exception()
