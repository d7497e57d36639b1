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
from holdfast.gateway.connections.unsent_output import UnsentOutput
from holdfast.gateway.folder import conversation_folder
from holdfast.gateway.operations.backups import LastBackup
from holdfast.gateway.operations.logs import LogWriter
from holdfast.gateway.operations.posts import Posts
from holdfast.gateway.operations.readiness import Readiness
from holdfast.gateway.operations.session_files import FilesProcess
from holdfast.gateway.operations.timers import Timer
from holdfast.gateway.operations.traffic import Counts
from holdfast.gateway.operations.turn_times import TurnTimes
from holdfast.gateway.wire.sessions import Connections, Storage
from holdfast.gateway.wire.upkeep import LegacyView
from holdfast.store import Store
from holdfast.store.backup import Backup

MOST_TENANTS = 1_024
"""Views that are kept at hand; more are made again."""


class FeedScope(NamedTuple):
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
        self.unsent = UnsentOutput()
        self.exports: Counter[str] = Counter()
        """How many are under way, by tenant."""
        self.log: LogWriter | None = None
        self.timers: list[Timer] = []
        self.legacy: LegacyView | None = None
        """What its start made of sessions in our older layout, if there are any."""
        self.files: FilesProcess | None = None
        """What keeps all sessions as files, if that is asked for."""
        self.address: str | None = None
        self.dashboard: str | None = None
        """Where a browser finds the dashboard: its own port, or the address."""
        self.agents: list[str] = []
        self.prices: Path | None = None
        """The file that says what models cost."""
        self.proofs_folder: Path | None = None
        """Where runs of proofs lie that operators may see."""
        self.last_backup: LastBackup | None = None
        self._started = time.monotonic()
        self._followed: Counter[FeedScope] = Counter()
        self._unfollowed = asyncio.Event()
        self._unfollowed.set()

    @property
    def conversations(self) -> Path | None:
        """Where the files of the agent's conversations are, if there are some: they go into a backup."""
        return None if self.data is None else conversation_folder(self.data)

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

    def backed_up(self, made: Backup) -> None:
        """A backup was made here."""
        self.last_backup = LastBackup(self.store.clock.now(), made.path, len(made.damaged))

    @property
    def uptime(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @contextmanager
    def following(self, followed: FeedScope) -> Iterator[None]:
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
