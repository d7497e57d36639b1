"""What a running gateway knows of itself: its store, since when, who follows live, and whether it is stopping."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request

from holdfast import __version__
from holdfast.core.errors import Closing
from holdfast.gateway.access.auth import caller_of
from holdfast.gateway.access.authority import Authority, Everybody
from holdfast.gateway.access.watch import TokenWatch
from holdfast.gateway.api.cache import Cache
from holdfast.gateway.connections.unsent import Unsent
from holdfast.gateway.operations.logs import LogWriter
from holdfast.gateway.operations.posts import Posts
from holdfast.gateway.operations.readiness import Readiness
from holdfast.gateway.operations.timers import Timer
from holdfast.gateway.operations.traffic import Counts
from holdfast.gateway.operations.turn_times import TurnTimes
from holdfast.gateway.wire.sessions import Connections, Storage
from holdfast.store import Store

MOST_TENANTS = 1_024
"""Views that are kept at hand; more are made again."""


class Followed(NamedTuple):
    """What a live connection asked for: a tenant's session, a user's sessions, or, with neither, everything."""

    tenant: str
    session_id: str | None = None
    user_id: str | None = None


class Gateway:
    """One gateway over one store; `data` is its data folder, if it has one, and `authority` says who may ask."""

    version = __version__

    def __init__(self, store: Store, data: Path | None = None, authority: Authority | None = None) -> None:
        self.store = store
        self.data = data
        self.authority = authority or Everybody(store.tenant)
        self.watch = TokenWatch(self.authority)
        self.cache = Cache()
        self.store_of = lru_cache(maxsize=MOST_TENANTS)(self._store_of)
        self.stopping = asyncio.Event()
        self.draining = False
        """Whether it is about to stop: not ready any more, but everything is still answered."""
        self.readiness = Readiness(store, data, self._refusal)
        self.counts = Counts()
        self.turn_times = TurnTimes()
        self.posts = Posts()
        self.unsent = Unsent()
        self.exports: Counter[str] = Counter()
        """How many are under way, by tenant."""
        self.log: LogWriter | None = None
        self.timers: list[Timer] = []
        self.address: str | None = None
        self.agents: list[str] = []
        self._started = time.monotonic()
        self._followed: Counter[Followed] = Counter()
        self._unfollowed = asyncio.Event()
        self._unfollowed.set()

    def _refusal(self) -> Closing | None:
        """Why no more requests should be sent here, if so."""
        if self.stopping.is_set():
            return Closing("the gateway is stopping")
        return Closing("the gateway drains: it still answers, and will stop soon") if self.draining else None

    def _store_of(self, tenant: str) -> Store:
        """A tenant's view of the store."""
        return self.store if tenant == self.store.tenant else self.store.for_tenant(tenant)

    async def until_refused(self, request: Request) -> None:
        """Return when the token that a request came with is good no more."""
        await self.watch.until_refused(caller_of(request))

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
            async with asyncio.timeout(seconds):
                await self._unfollowed.wait()

    def connections(self) -> Connections:
        """Who follows live."""
        users = {(each.tenant, each.user_id) for each in self._followed if each.user_id is not None}
        sessions = {(each.tenant, each.session_id) for each in self._followed if each.session_id is not None}
        return Connections(self._followed.total(), len(users), len(sessions))

    def storage(self) -> Storage:
        """The database, as it was opened: asks it nothing. Where it is, is told to those who are on this machine."""
        engine = self.store.engine
        url = None if self.authority.asks else engine.url
        return Storage(engine.name, engine.version, url, self.store.store_id)
