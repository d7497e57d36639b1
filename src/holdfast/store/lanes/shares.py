"""Shares: whose read is next, of those that are about as long.

Tenants take turns, and within a tenant its callers, each of whom has as many reads here as it likes up to a bound. A
tenant never has all the threads that could do such reads, and a caller never all of its tenant's: whoever comes next
finds one. Reads without a tenant are the store's own and those without a caller have no others to be fair to, so
neither is held back. Everything here is plain data: whoever uses it holds a lock.

A caller is a name that a gateway gives to whoever it works for. It goes along with the task that asks, and not through
every signature: a reader needs it, and nothing in between does.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from holdfast.core.errors import Busy
from holdfast.store.engine import Tx
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

_CALLER: ContextVar[str | None] = ContextVar("holdfast.caller", default=None)


class ReadLength(IntEnum):
    """How long a read may take; longer ones never keep shorter ones waiting."""

    LOOK = 0
    """A few rows by their keys: a token, a head, a route."""
    PAGE = 1
    """A page that is bounded by its bytes: what a session resumes with, what is new for live feeds."""
    LONG = 2
    """Anything else, for as long as a read may take."""


@dataclass(slots=True, eq=False)
class QueuedRead:
    """One caller's read on its way through the readers."""

    run: Callable[[Tx], Any]
    length: ReadLength
    tenant: str | None
    caller: str | None
    future: asyncio.Future[Any]
    gone: bool = False
    """Whether nobody waits for it any more."""


@contextmanager
def reading_for(caller: str) -> Iterator[None]:
    """Whatever is read within, by this task or one that it starts, is read for this caller."""
    before = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(before)


def current_caller() -> str | None:
    """For whom the running task reads; None if that is nobody's business."""
    return _CALLER.get()


Names = tuple[str | None, str | None]


class Shares:
    """The reads of one length that wait, and how many of whose are running on its `threads`."""

    def __init__(self, threads: int, tuning: StoreTuning = DEFAULT_TUNING) -> None:
        self.waiting = 0
        self._tuning = tuning
        self._most_of_a_tenant = max(1, threads - 1)
        self._most_of_a_caller = max(1, threads - 2)
        self._queues: OrderedDict[str | None, OrderedDict[str | None, deque[QueuedRead]]] = OrderedDict()
        self._here: Counter[Names] = Counter()
        self._of_tenants: Counter[str | None] = Counter()
        self._running: Counter[Names] = Counter()
        self._running_of_tenants: Counter[str | None] = Counter()

    def add(self, read: QueuedRead) -> None:
        """Have it wait for its turn; Busy if there are too many already."""
        names, bounds = (read.tenant, read.caller), self._tuning
        if self.waiting >= bounds.most_reads:
            raise Busy(f"{self.waiting} reads are waiting already", retry_after=1)
        if read.caller is not None:
            if self._here[names] >= bounds.most_reads_of_a_caller:
                raise Busy(f"{self._here[names]} reads of the same caller are waiting already", retry_after=1)
            if self._of_tenants[read.tenant] >= bounds.most_reads_of_a_tenant:
                raise Busy(f"{self._of_tenants[read.tenant]} reads of the tenant are waiting already", retry_after=1)
        self.waiting += 1
        self._here[names] += 1
        self._of_tenants[read.tenant] += 1
        self._queues.setdefault(read.tenant, OrderedDict()).setdefault(read.caller, deque()).append(read)

    def take(self) -> QueuedRead | None:
        """The next that may run, which does so until it is `done`; None if there is none."""
        for tenant, callers in self._queues.items():
            if tenant is not None and self._running_of_tenants[tenant] >= self._most_of_a_tenant:
                continue
            for caller, reads in callers.items():
                if caller is not None and self._running[tenant, caller] >= self._most_of_a_caller:
                    continue
                read = reads.popleft()
                self.waiting -= 1
                self._running[tenant, caller] += 1
                self._running_of_tenants[tenant] += 1
                callers.move_to_end(caller)
                self._queues.move_to_end(tenant)
                self._forget_empty(tenant, caller)
                return read
        return None

    def done(self, read: QueuedRead) -> None:
        """It runs no more."""
        _one_less(self._running, (read.tenant, read.caller))
        _one_less(self._running_of_tenants, read.tenant)
        self._uncount(read)

    def drop(self, read: QueuedRead) -> bool:
        """Have it wait no more; False if its turn has come already."""
        callers = self._queues.get(read.tenant)
        reads = None if callers is None else callers.get(read.caller)
        if reads is None or read not in reads:
            return False
        reads.remove(read)
        self.waiting -= 1
        self._uncount(read)
        self._forget_empty(read.tenant, read.caller)
        return True

    def _uncount(self, read: QueuedRead) -> None:
        _one_less(self._here, (read.tenant, read.caller))
        _one_less(self._of_tenants, read.tenant)

    def _forget_empty(self, tenant: str | None, caller: str | None) -> None:
        callers = self._queues[tenant]
        if not callers[caller]:
            del callers[caller]
        if not callers:
            del self._queues[tenant]


def _one_less(counts: "Counter[Any]", name: Any) -> None:
    counts[name] -= 1
    if not counts[name]:
        del counts[name]
