"""What a running gateway knows of itself: its store, since when, who follows live, and whether it is stopping."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from holdfast import __version__
from holdfast.gateway.wire import Connections, Storage
from holdfast.store import Store


class Followed(NamedTuple):
    """What a live connection asked for: a session, a user's sessions, or, with neither, everything."""

    session_id: str | None = None
    user_id: str | None = None


class Gateway:
    """One gateway over one store; `data` is its data folder, if it has one."""

    version = __version__

    def __init__(self, store: Store, data: Path | None = None) -> None:
        self.store = store
        self.data = data
        self.stopping = asyncio.Event()
        self._started = time.monotonic()
        self._followed: Counter[Followed] = Counter()
        self._unfollowed = asyncio.Event()
        self._unfollowed.set()

    @property
    def uptime(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @contextmanager
    def following(self, followed: Followed) -> Iterator[None]:
        """Count a live connection while it lasts."""
        self._followed[followed] += 1
        self._unfollowed.clear()
        try:
            yield
        finally:
            self._followed[followed] -= 1
            if not self._followed[followed]:
                del self._followed[followed]
            if not self._followed:
                self._unfollowed.set()

    async def stop_feeds(self, seconds: float) -> None:
        """Have every live connection closed with its reason; one that does not take it in time is left."""
        self.stopping.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._unfollowed.wait(), seconds)

    def connections(self) -> Connections:
        """Who follows live."""
        users = {each.user_id for each in self._followed} - {None}
        sessions = {each.session_id for each in self._followed} - {None}
        return Connections(self._followed.total(), len(users), len(sessions))

    def storage(self) -> Storage:
        """The database, as it was opened: asks it nothing."""
        engine = self.store.engine
        return Storage(engine.name, engine.version, engine.url, self.store.store_id)
