"""One turn at a time in each session: first in, first out in this process, by the session's lease among all.

The lease fences: whoever holds the session writes with its lease, and a process that was thought dead and is not
has its writes refused.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from weakref import WeakValueDictionary

from holdfast.a2a.persist import until_written
from holdfast.core import HoldfastError, Lease
from holdfast.core.errors import LeaseHeld
from holdfast.store import Store

LEASE_MS = 4_000
FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5

log = logging.getLogger("holdfast.a2a")


class TurnQueue:
    """Who may write turns of which session now."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def hold(self, store: Store, session_id: str, holder: str) -> AsyncIterator[Lease]:
        """The session's lease, as soon as all who came before are done; renewing it is the caller's business."""
        lock = self._locks.setdefault((store.tenant, session_id), asyncio.Lock())
        async with lock, leased(store, session_id, holder) as lease:
            yield lease


@contextlib.asynccontextmanager
async def leased(store: Store, session_id: str, holder: str) -> AsyncIterator[Lease]:
    """The session's lease, for one whose turn it is in this process."""
    lease = await _acquire(store, session_id, holder)
    try:
        yield lease
    finally:
        try:
            await store.leases.release(lease)
        except HoldfastError as error:
            log.warning("the lease of session %s is left to expire: %s", session_id, error)


async def _acquire(store: Store, session_id: str, holder: str) -> Lease:
    pause = FIRST_PAUSE
    while True:
        try:
            return await until_written(lambda: store.leases.acquire(session_id, holder, LEASE_MS))
        except LeaseHeld:
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
