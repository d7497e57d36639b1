"""Whether the gateway is ready: it goes on, the store can be read, and takes a write that is durable.

The last two are tried for real. A write that somebody else made since the last look proves as much, and whatever is
found is kept for a second: asking often makes no load.
"""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.core import HoldfastError
from holdfast.core.errors import StoreUnavailable
from holdfast.gateway.errors import NotReady
from holdfast.gateway.operations.single_flight import SingleFlight
from holdfast.store import Store, sqlite_path

ANSWER_SECONDS = 5.0
FRESH_SECONDS = 1.0
UNAVAILABLE = 503


class Readiness:
    """What can be said of a store now, asked at most once a second; `refusal` is why the gateway itself is not."""

    def __init__(
        self,
        store: Store,
        data: Path | None,
        refusal: Callable[[], HoldfastError | None],
        *,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._store = store
        self._answer_seconds = answer_seconds
        self._folder = folder_of(store, data)
        self._refusal = refusal
        self._commits = 0
        self._figures = SingleFlight(self._ask_figures, FRESH_SECONDS)
        self._ready = SingleFlight(self._ask, FRESH_SECONDS)

    async def figures(self) -> dict[str, Any]:
        """The engine's own figures, and what is free on the disk; a HoldfastError if the store cannot tell."""
        return await self._figures.get()

    async def look(self) -> dict[str, Any]:
        """The figures of a store that can be read and written; a HoldfastError with status 503 says why it is not."""
        refusal = self._refusal()
        if refusal is not None:
            raise refusal
        if self._store.failure is not None:
            raise self._store.failure
        try:
            return await self._ready.get()
        except HoldfastError as error:
            if error.status == UNAVAILABLE:
                raise
            raise NotReady(error.message, hint=error.hint, reason=error.code) from error

    async def _ask(self) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._answer_seconds):
                await self._store.check_readable()
                await self._write()
                return await self.figures()
        except TimeoutError:
            raise StoreUnavailable(f"the store did not answer within {self._answer_seconds:.0f} s") from None

    async def _write(self) -> None:
        if not self._store.read_only and self._store.commits == self._commits:
            await self._store.check_writable()
        self._commits = self._store.commits

    async def _ask_figures(self) -> dict[str, Any]:
        found = await asyncio.to_thread(self._store.engine.figures)
        return {**found, "diskFreeBytes": await asyncio.to_thread(free_bytes, self._folder)}


def folder_of(store: Store, data: Path | None) -> Path | None:
    """The folder whose disk matters: of the store's file, else the gateway's own."""
    path = sqlite_path(store.engine.url)
    return data if path is None else path.absolute().parent


def free_bytes(folder: Path | None) -> int | None:
    """What is free on a folder's disk, as far as that can be seen."""
    try:
        return None if folder is None else shutil.disk_usage(folder).free
    except OSError:
        return None
