"""Writes under a lease: each is refused, whole and in its own transaction, once a newer lease was given out.

A turn sees the store through these. So whatever it writes (memory, usage, a compaction, a file's bytes) is fenced
because of who writes it, and not because somebody thought of it where it is written. Reads are not fenced.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from holdfast.core import Lease
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.log.append import check_lease
from holdfast.store.log.reading import existing_head
from holdfast.store.part import Workers, session_lock

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class FencedWorkers:
    """The lanes and readers of a tenant, at work for whoever holds a lease."""

    inner: Workers
    tenant: str
    lease: Lease

    def write(
        self, run: Callable[[Tx], Result], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Awaitable[Result]:
        """Run a write if no newer lease was given out; LeaseLost, and nothing is written, if one was."""
        session_id = self.lease.session_id

        def fenced(tx: Tx) -> Result:
            check_lease(tx, existing_head(tx, self.tenant, session_id), self.lease)
            return run(tx)

        # With the session's lock no other can take the lease between the check and the commit.
        held = (*locks, session_lock(self.tenant, session_id))
        return self.inner.write(fenced, tuple(dict.fromkeys(held)), weight, makes_room=makes_room)

    def read(self, run: Callable[[Tx], Result], length: ReadLength = ReadLength.LONG) -> Awaitable[Result]:
        """Run a read over one snapshot."""
        return self.inner.read(run, length)
