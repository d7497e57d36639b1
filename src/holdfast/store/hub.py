"""The hub: what one event loop's subscribers share.

It tails the whole-store feed once for all of them, keeps the recent part in memory, and rings the bell of whoever
has something new. Bells are hints: a subscriber always decides by its own cursor what it has not seen, so a lost or
doubled ring changes nothing, and the hub looks once a second by itself.
"""

import asyncio
import contextlib
import logging
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from holdfast.core import Event, HoldfastError, types
from holdfast.store.engine import Recorded

RING = 8_192
TAIL = 256
LOOK_SECONDS = 1.0

Cursor = tuple[int, int]
SessionName = tuple[str, str]

log = logging.getLogger("holdfast.store")


@dataclass(frozen=True, slots=True)
class Entry:
    """One place in the store's order, and the event there; None if that is no news."""

    cursor: Cursor
    tenant: str
    session_id: str
    event: Event | None


class Hub:
    """The subscribers of one loop; every method but `published` is called on that loop."""

    def __init__(
        self,
        page: Callable[[Cursor], Awaitable[list[Entry]]],
        end: Callable[[], Awaitable[Cursor]],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._page = page
        self._end = end
        self._wake = asyncio.Event()
        self._ready = asyncio.Event()
        self._bells: defaultdict[SessionName | None, set[asyncio.Event]] = defaultdict(set)
        self._tails: dict[SessionName, list[Event]] = {}
        self._ring: list[Entry] = []
        self._ring_cursors: list[Cursor] = []
        self._start: Cursor = (0, 0)
        self._tailer: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def subscribe(self, session: SessionName | None) -> Iterator[asyncio.Event]:
        """A bell that rings when the session (None: any session) may have something new."""
        bell = asyncio.Event()
        self._bells[session].add(bell)
        if self._tailer is None:
            self._tailer = self._loop.create_task(self._tail(), name="holdfast-feed")
        try:
            yield bell
        finally:
            self._bells[session].discard(bell)
            if not self._bells[session]:
                del self._bells[session]
                if session is not None:
                    self._tails.pop(session, None)
            if not self._bells:
                self._stop()

    async def ready(self) -> None:
        """Return once the ring has a beginning."""
        await self._ready.wait()

    def recent(self, session: SessionName, after: int) -> list[Event]:
        """The session's next events if they are in memory without a gap; nothing says nothing."""
        tail = self._tails.get(session)
        if not tail or not tail[0].seq <= after + 1 <= tail[-1].seq:
            return []
        return tail[after + 1 - tail[0].seq :]

    def ring_after(self, cursor: Cursor) -> list[Entry] | None:
        """The entries after a cursor, or None if the ring begins later than that."""
        if not self._ready.is_set() or cursor < self._start:
            return None
        return self._ring[bisect_right(self._ring_cursors, cursor) :]

    def published(self, recorded: list[Recorded]) -> None:
        """A lane has committed these; called from the lane's thread."""
        if self._bells:
            with contextlib.suppress(RuntimeError):  # the loop was closed
                self._loop.call_soon_threadsafe(self._note, recorded)

    def heard(self) -> None:
        """Another process may have committed something; called from any thread."""
        if self._bells:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake.set)

    def _note(self, recorded: list[Recorded]) -> None:
        for entry in recorded:
            session = (entry.tenant, entry.session_id)
            if session in self._bells:
                self._keep(session, entry.event())
        self._wake.set()

    def _keep(self, session: SessionName, event: Event) -> None:
        bells = self._bells.get(session)
        if not bells:
            return
        tail = self._tails.setdefault(session, [])
        if tail and event.seq <= tail[-1].seq:
            return
        if tail and (event.seq != tail[-1].seq + 1 or event.type == types.EVENTS_ERASED):
            tail.clear()
        tail.append(event)
        if len(tail) > 2 * TAIL:
            del tail[:TAIL]
        for bell in bells:
            bell.set()

    async def _tail(self) -> None:
        while True:
            try:
                if not self._ready.is_set():
                    self._start = cursor = await self._end()
                    self._ready.set()
                self._wake.clear()
                entries = await self._page(cursor)
                if entries:
                    cursor = entries[-1].cursor
                    self._take(entries)
                else:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._wake.wait(), LOOK_SECONDS)
            except HoldfastError as error:
                log.warning("the live feed could not read the store: %s", error)
                await asyncio.sleep(LOOK_SECONDS)

    def _take(self, entries: list[Entry]) -> None:
        self._ring += entries
        self._ring_cursors += [entry.cursor for entry in entries]
        if len(self._ring) > 2 * RING:
            self._start = self._ring_cursors[-RING - 1]
            del self._ring[:-RING]
            del self._ring_cursors[:-RING]
        if any(entry.event is not None and entry.event.type == types.EVENTS_ERASED for entry in entries):
            self._forget()
        for entry in entries:
            if entry.event is not None:
                self._keep((entry.tenant, entry.session_id), entry.event)
        for bell in self._bells.get(None, ()):
            bell.set()

    def _forget(self) -> None:
        """Something was erased: what was read before may still say it, so it is read again."""
        self._start = self._ring_cursors[-1]
        self._ring.clear()
        self._ring_cursors.clear()

    def _stop(self) -> None:
        if self._tailer is not None:
            self._tailer.cancel()
            self._tailer = None
        self._ready.clear()
        self._ring.clear()
        self._ring_cursors.clear()
        self._tails.clear()
