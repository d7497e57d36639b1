"""Writes that are run again, or whose process is killed between two of them, at a chosen place."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.store import open_store
from holdfast.store.attachments.attachments import Attachments
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.part import Workers


@dataclass(slots=True)
class Twice:
    """Runs every write, then whatever comes `between`, then the write again as after a lost acknowledgement."""

    inner: Workers
    between: Callable[[], Awaitable[Any]] | None = None

    async def write(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Any:
        await self.inner.write(run, locks, weight, makes_room=makes_room)
        if self.between is not None:
            await self.between()

        def again(tx: Tx) -> Any:
            tx.rerun = True
            return run(tx)

        return await self.inner.write(again, locks, weight, makes_room=makes_room)

    async def read(self, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
        return await self.inner.read(run, length)


@dataclass(slots=True)
class Mortal:
    """Kills its own process instead of the write after so many."""

    inner: Workers
    writes: int

    async def write(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Any:
        if not self.writes:
            os.kill(os.getpid(), signal.SIGKILL)
        self.writes -= 1
        return await self.inner.write(run, locks, weight, makes_room=makes_room)

    async def read(self, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
        return await self.inner.read(run, length)


def upload_until_killed(url: str, data: bytes, writes: int) -> None:
    """Put bytes as an attachment and be killed after so many writes."""

    async def run() -> None:
        async with await open_store(url) as store:
            attachments: Attachments = replace(store.attachments, workers=Mortal(store.attachments.workers, writes))
            await attachments.put(data)

    asyncio.run(run())


def upload(url: str, data: bytes, start: Any) -> None:
    """Put bytes as an attachment once all have come to the start."""

    async def run() -> None:
        async with await open_store(url) as store:
            start.wait(60)
            await store.attachments.put(data)

    asyncio.run(run())
