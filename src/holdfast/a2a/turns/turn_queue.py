"""One turn at a time in each session: first in, first out in this process, by the session's lease among all.

The lease fences: whoever holds the session writes with its lease, and a process that was thought dead and is not
has its writes refused. A lease is renewed for as long as it is held, whatever its holder does meanwhile.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from holdfast.a2a.turns.timing import TurnTiming
from holdfast.core import HoldfastError, Lease
from holdfast.core.errors import LeaseHeld, LeaseLost, NotFound, SessionGone
from holdfast.core.retry import Backoff, until_written
from holdfast.store import Store

RELEASE_SECONDS = 1.0
WAITING = Backoff(0.02, 0.5)

log = logging.getLogger("holdfast.a2a")


@dataclass(frozen=True, slots=True)
class SessionHold:
    """A session's lease while it is held, and whether another has taken it meanwhile."""

    lease: Lease
    lost: asyncio.Event = field(default_factory=asyncio.Event)


class TurnQueue:
    """Who may write turns of which session now."""

    def __init__(self, timing: TurnTiming | None = None) -> None:
        self._timing = timing or TurnTiming()
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def hold(self, store: Store, session_id: str, holder: str) -> AsyncIterator[SessionHold]:
        """The session's lease, as soon as all who came before are done."""
        lock = self._locks.setdefault((store.tenant, session_id), asyncio.Lock())
        async with lock, session_lease(store, session_id, holder, self._timing) as held:
            yield held


@contextlib.asynccontextmanager
async def session_lease(store: Store, session_id: str, holder: str, timing: TurnTiming) -> AsyncIterator[SessionHold]:
    """The session's lease, for one whose turn it is in this process."""
    held = SessionHold(await _acquire(store, session_id, holder, timing.lease_ms))
    renewing = asyncio.create_task(_renew(store, held, timing))
    try:
        yield held
    finally:
        renewing.cancel()
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                await store.leases.release(held.lease)
        except (HoldfastError, TimeoutError) as error:
            log.warning("the lease of session %s is left to expire: %s", session_id, error)


async def _acquire(store: Store, session_id: str, holder: str, lease_ms: int) -> Lease:
    tries = 0
    while True:
        try:
            return await until_written(lambda: store.leases.acquire(session_id, holder, lease_ms))
        except LeaseHeld:
            tries += 1
            await asyncio.sleep(WAITING.pause(tries))


async def _renew(store: Store, held: SessionHold, timing: TurnTiming) -> None:
    """Renew a lease again and again, until it is lost."""
    while True:
        await asyncio.sleep(timing.renew_seconds)
        try:
            await store.leases.renew(held.lease, timing.lease_ms)
        except (LeaseLost, NotFound, SessionGone):
            held.lost.set()
            return
        except HoldfastError as error:
            log.warning("the lease of session %s could not be renewed: %s", held.lease.session_id, error)
