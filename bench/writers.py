"""Writers on a store: each awaits its append before it makes the next."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from bench.material import TYPE, payload, session_id
from holdfast.store import NewEvent, Store, open_store

Beside = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Pace:
    """What writers reached: events per second, and how long an append took."""

    rate: float
    waits: list[float]

    def percentile_ms(self, part: float) -> float:
        """The wait that this part of the appends did not exceed."""
        return sorted(self.waits)[min(int(len(self.waits) * part), len(self.waits) - 1)] * 1000

    @property
    def p99_ms(self) -> float:
        """The 99th percentile of the waits."""
        return self.percentile_ms(0.99)

    @property
    def worst_ms(self) -> float:
        """The longest wait."""
        return max(self.waits) * 1000


async def write(store: Store, writers: int, seconds: float, *, batch: int = 1) -> Pace:
    """Let writers append, each to its own session, for some seconds."""
    body = payload()
    waits: list[float] = []
    sessions = [session_id(number) for number in range(writers)]
    events = [NewEvent(TYPE, body) for _ in range(batch)]
    await asyncio.gather(*(store.append(session, events) for session in sessions))
    start = time.perf_counter()
    end = start + seconds

    async def writer(session: str) -> None:
        now = time.perf_counter()
        while now < end:
            await store.append(session, [NewEvent(TYPE, body) for _ in range(batch)])
            before, now = now, time.perf_counter()
            waits.append(now - before)

    await asyncio.gather(*(writer(session) for session in sessions))
    return Pace(len(waits) * batch / (time.perf_counter() - start), waits)


def pace(url: str, writers: int, seconds: float, *, batch: int = 1, beside: Beside | None = None) -> Pace:
    """What writers reach on this store, on the loop that `holdfast serve` uses, perhaps with something beside them."""

    async def run() -> Pace:
        async with await open_store(url) as store:
            other = asyncio.ensure_future(beside()) if beside else None
            try:
                return await write(store, writers, seconds, batch=batch)
            finally:
                if other is not None:
                    other.cancel()

    return uvloop.run(run())


def sqlite_pace(folder: Path, writers: int, seconds: float, *, batch: int = 1, beside: Beside | None = None) -> Pace:
    """What writers reach on a new file."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        return pace(f"sqlite:///{place}/store.db", writers, seconds, batch=batch, beside=beside)
