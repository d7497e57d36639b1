"""How tests wait: for a condition, never for a time. Whoever waits in vain says for what."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from inspect import isawaitable
from typing import Any, TypeVar, overload

PATIENCE = 60.0
PAUSE = 0.005

Found = TypeVar("Found")


@overload
async def eventually(look: Callable[[], Coroutine[Any, Any, Found]], pause: float = PAUSE) -> Found: ...
@overload
async def eventually(look: Callable[[], Found], pause: float = PAUSE) -> Found: ...
async def eventually(look: Callable[[], Any], pause: float = PAUSE) -> Any:
    """What a look finds, as soon as it is something; a longer pause asks a gateway less often than it logs."""
    deadline = time.monotonic() + PATIENCE
    while True:
        seen = look()
        found = await seen if isawaitable(seen) else seen
        if found:
            return found
        assert time.monotonic() < deadline, f"{look} found {found!r} for {PATIENCE:g} s"
        await asyncio.sleep(pause)


def wait_until(look: Callable[[], Found | None], pause: float = PAUSE) -> Found:
    """The same for a test without an event loop; a short pause sees what is there for a moment only."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline, f"{look} found {found!r} for {PATIENCE:g} s"
        time.sleep(pause)
    return found
