"""The loop gives way to the lanes.

A busy event loop can keep a lane's thread from the interpreter lock for seconds: it lets go and takes it again
before the lane wakes. So while writes wait, a timer on the loop looks every 10 ms whether the lanes have committed
since; if not, the loop's thread sleeps, a millisecond at a time and at most 20, until one has. An idle loop never pays.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

LOOK_SECONDS = 0.010
NAP_SECONDS = 0.001
MOST_NAPS = 20


class Progress(Protocol):
    """What can be seen of a lane."""

    waiting: int

    @property
    def commits(self) -> int:
        """How many transactions it has committed."""
        ...


class GiveWay:
    """Watches over the lanes of one store."""

    def __init__(self, lanes: Sequence[Progress], sleep: Callable[[float], None] = time.sleep) -> None:
        self._lanes = lanes
        self._sleep = sleep
        self._watching: dict[asyncio.AbstractEventLoop, asyncio.TimerHandle] = {}

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look after this loop until no write waits."""
        if loop not in self._watching:
            self._watching[loop] = loop.call_later(LOOK_SECONDS, self._look, loop, self._commits())

    def close(self) -> None:
        """Stop looking."""
        for timer in self._watching.values():
            timer.cancel()
        self._watching.clear()

    def _look(self, loop: asyncio.AbstractEventLoop, commits_before: int) -> None:
        self._watching.pop(loop, None)
        if not any(lane.waiting for lane in self._lanes):
            return
        naps = 0
        while self._commits() == commits_before and naps < MOST_NAPS:
            naps += 1
            self._sleep(NAP_SECONDS)
        self._watching[loop] = loop.call_later(LOOK_SECONDS, self._look, loop, self._commits())

    def _commits(self) -> int:
        return sum(lane.commits for lane in self._lanes)
