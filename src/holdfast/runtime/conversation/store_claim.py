"""A process's claim on a conversation in a store: the session's lease, renewed for as long as the process lives.

The lease's holder says which process it is, so that one that has died on this machine is known to be dead at once. One
that died elsewhere is dead when its lease has run out.
"""

import asyncio
import os
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.core import Lease, strict_json
from holdfast.core.errors import HoldfastError, InvalidJson, LeaseHeld, LeaseLost
from holdfast.runtime.conversation.file_claim import held, program
from holdfast.runtime.conversation.store_thread import StoreThread

if TYPE_CHECKING:
    from holdfast.store import Store

LEASE_MS = 30_000
RENEW_SECONDS = LEASE_MS / 3_000
ENDED = ("Z", "X")
START_FIELD = 19
"""Where /proc says when a process began, counted from behind its name."""


class StoreHold:
    """The lease, while it is held."""

    def __init__(self, thread: StoreThread, lease: Lease) -> None:
        self._thread = thread
        self.lease = lease
        self.store: Store = thread.store.under(lease)
        self._renewal = thread.run(self._renewing())
        thread.last_work.append(self._end)

    @classmethod
    def take(cls, thread: StoreThread, session_id: str) -> "StoreHold":
        """Claim a conversation; ConversationHeld if another process has it."""
        try:
            return cls(thread, thread.run(_acquired(thread.store, session_id)))
        except LeaseHeld as error:
            raise held(session_id, _read(error.details["holder"])) from None

    def release(self) -> None:
        """Let other processes have it."""
        self._thread.run(self._end())

    def abandon(self) -> None:
        """Let other processes have it soon, without waiting for anything."""
        self._thread.submit(self._end)

    def forget(self) -> None:
        """In a process that was forked: leave it to the parent."""

    async def _renewing(self) -> "asyncio.Task[None]":
        return asyncio.create_task(_renew(self._thread.store, self.lease))

    async def _end(self) -> None:
        if self._end not in self._thread.last_work:
            return
        self._thread.last_work.remove(self._end)
        self._renewal.cancel()
        await self._thread.store.leases.release(self.lease)


async def _renew(store: "Store", lease: Lease) -> None:
    """Renew the lease until it is lost; whoever writes is told then."""
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        try:
            await store.leases.renew(lease, LEASE_MS)
        except LeaseLost:
            return
        except HoldfastError:
            continue


async def _acquired(store: "Store", session_id: str) -> Lease:
    """The lease; that of a process that has died on this machine is taken over."""
    own = strict_json.dump(_holder(os.getpid())).decode()
    dead: str | None = None
    while True:
        try:
            return await store.leases.acquire(session_id, own, LEASE_MS, dead_holder=dead)
        except LeaseHeld as error:
            other = error.details["holder"]
            if other == dead or not _has_died(_read(other)):
                raise
            dead = other


def _holder(pid: int) -> dict[str, Any]:
    return {"pid": pid, "host": socket.gethostname(), "program": program(), "machine": _machine(), "began": _began(pid)}


def _has_died(holder: dict[str, Any]) -> bool:
    """Whether a holder is a process of this machine that is no longer there."""
    pid = holder.get("pid")
    if not isinstance(pid, int) or holder.get("machine") != _machine() or holder.get("host") != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return _began(pid) != holder.get("began")


def _read(holder: str) -> dict[str, Any]:
    """What a lease's holder says of itself; one that is not a process of ours is only a name."""
    try:
        found = strict_json.parse(holder.encode())
    except InvalidJson:
        found = None
    return found if isinstance(found, dict) else {"name": holder}


@cache
def _machine() -> str:
    """This machine since its start, and the processes that see each other."""
    boot, processes = "", ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        processes = str(Path("/proc/self/ns/pid").readlink())
    return f"{boot} {processes}".strip()


def _began(pid: int) -> str:
    """When a process began, as far as the system says; nothing if it has ended and is only not buried yet."""
    try:
        said = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if said[0] in ENDED else said[START_FIELD]
    except (OSError, IndexError):
        return ""
