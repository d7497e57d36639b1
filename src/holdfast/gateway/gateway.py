"""What a running gateway knows of itself: its store, since when, who follows live, and whether it is stopping."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from holdfast import __version__
from holdfast.gateway.wire import Connections, Storage
from holdfast.store import Store


class Gateway:
    """One gateway over one store."""

    version = __version__

    def __init__(self, store: Store) -> None:
        self.store = store
        self.stopping = asyncio.Event()
        self._started = time.monotonic()
        self._followed: Counter[str | None] = Counter()
        self._unfollowed = asyncio.Event()
        self._unfollowed.set()

    @property
    def uptime(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @contextmanager
    def following(self, session_id: str | None) -> Iterator[None]:
        """Count a live connection while it lasts; None follows the whole store."""
        self._followed[session_id] += 1
        self._unfollowed.clear()
        try:
            yield
        finally:
            self._followed[session_id] -= 1
            if not self._followed[session_id]:
                del self._followed[session_id]
            if not self._followed:
                self._unfollowed.set()

    async def stop_feeds(self, seconds: float) -> None:
        """Have every live connection closed with its reason; one that does not take it in time is left."""
        self.stopping.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._unfollowed.wait(), seconds)

    def connections(self) -> Connections:
        """Who follows live."""
        return Connections(self._followed.total(), 0, len(self._followed.keys() - {None}))

    def storage(self) -> Storage:
        """The database, as it was opened: asks it nothing."""
        engine = self.store.engine
        return Storage(engine.name, engine.version, engine.url, self.store.store_id)
