"""Leases: the right to write turns of one session, one holder at a time.

Each time the lease changes hands its fencing number rises. A write that carries an older number is refused by
`append`; expiry by itself refuses nothing, it only lets another holder take over. Leases are not events.

A turn sees the store through `FencedWorkers`. So whatever it writes (memory, usage, a compaction, a file's bytes) is
fenced because of who writes it, and not because somebody thought of it where it is written. Reads are not fenced.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from holdfast.core import Lease
from holdfast.core.errors import InvalidInput, LeaseHeld, LeaseLost
from holdfast.core.ids import check_name, check_session_id
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.log.append import check_lease, open_head
from holdfast.store.log.log_reader import existing_head
from holdfast.store.part import Part, Workers, session_lock

GET = "SELECT fence, holder, expires_at FROM leases WHERE session_no = ?1"
PUT = """
    INSERT INTO leases (session_no, fence, holder, expires_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (session_no) DO UPDATE
    SET fence = excluded.fence, holder = excluded.holder, expires_at = excluded.expires_at"""

Result = TypeVar("Result")


def fence_of(tx: Tx, session_no: int) -> int:
    """The highest fencing number that was given out for a session; 0 if none was."""
    row = tx.one(GET, session_no)
    return 0 if row is None else int(row[0])


def go_on_after(tx: Tx, session_no: int, fence: int) -> None:
    """Let the session's next lease have a higher number than this one; nobody has it now."""
    tx.run(PUT, session_no, fence, "", 0)


class Leases(Part):
    """`store.leases`."""

    __slots__ = ()

    async def acquire(
        self,
        session_id: str,
        holder: str,
        ttl_ms: int,
        *,
        take_over: bool = False,
        dead_holder: str | None = None,
    ) -> Lease:
        """The session's lease; LeaseHeld while another holder's runs, unless that is `dead_holder`, or `take_over`
        says that it is dead, whoever it is."""
        check_session_id(session_id)
        check_name(holder, "a lease's holder")
        if ttl_ms <= 0:
            raise InvalidInput(f"a lease must last longer than {ttl_ms} ms")
        created_at = self.clock.now()

        def write(tx: Tx) -> Lease:
            head = open_head(tx, self.tenant, session_id, created_at)
            now = tx.now()
            row = tx.one(GET, head.session_no)
            fence = 0
            if row is not None:
                fence, other, expires_at = row
                if other not in {holder, dead_holder} and expires_at > now and not take_over:
                    raise LeaseHeld(
                        f"session {session_id!r} is leased to {other!r}",
                        session_id=session_id,
                        holder=other,
                        expires_at=expires_at,
                        expires_in_ms=expires_at - now,
                    )
            if row is None or other != holder or expires_at <= now:
                fence += 1
            tx.run(PUT, head.session_no, fence, holder, now + ttl_ms)
            return Lease(session_id, holder, fence, now + ttl_ms)

        return await self.write(session_id, write)

    async def renew(self, lease: Lease, ttl_ms: int) -> Lease:
        """The same lease with a later end; LeaseLost if it has changed hands."""

        def write(tx: Tx) -> Lease:
            session_no = self._held(tx, lease)
            expires_at = tx.now() + ttl_ms
            tx.run(PUT, session_no, lease.fence, lease.holder, expires_at)
            return Lease(lease.session_id, lease.holder, lease.fence, expires_at)

        return await self.write(lease.session_id, write)

    async def release(self, lease: Lease) -> None:
        """Let another holder have it now; nothing happens if one has it already."""

        def write(tx: Tx) -> None:
            try:
                session_no = self._held(tx, lease)
            except LeaseLost:
                return
            tx.run(PUT, session_no, lease.fence, lease.holder, 0)

        await self.write(lease.session_id, write)

    def _held(self, tx: Tx, lease: Lease) -> int:
        head = existing_head(tx, self.tenant, lease.session_id)
        row = tx.one(GET, head.session_no)
        if row is None or row[0] != lease.fence or row[1] != lease.holder:
            raise LeaseLost(
                f"the lease of session {lease.session_id!r} has changed hands",
                fence=lease.fence,
                current=row[0] if row else None,
            )
        return head.session_no


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
