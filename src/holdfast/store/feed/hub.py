"""The hub: what one event loop's subscribers share.

It tails the whole-store feed once for all of them, keeps the recent part in memory, and rings the bell of whoever
has something new. The store's order may have to wait for a transaction that is still open. A session's own order does
not, so its followers are rung for what is there. What is kept, and what a subscriber takes of it at a time, is bounded
by number and by bytes; the rest is read from the database, once for all who want the same. Bells are hints: a
subscriber always decides by its own cursor what it has not seen, so a lost or doubled ring changes nothing, and the hub
looks once a second by itself.
"""

import asyncio
import contextlib
import logging
import time
from bisect import bisect_right
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Any, NamedTuple

from holdfast.core import Event, HoldfastError, types
from holdfast.core.errors import Corrupt, HistoryChanged
from holdfast.store.engine import RecordedEvent
from holdfast.store.feed.shared_reads import SharedReads
from holdfast.store.log.log_reader import count_within
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

PAGE = 1_000
"""Entries that are read at once."""
PAGE_BYTES = 2 * 1024 * 1024
"""What the payloads that are taken at once have together, unless it is one event."""
RING = 8_192
RING_BYTES = 16 * 1024 * 1024
TAIL = 256
TAIL_BYTES = 256 * 1024
LOOK_SECONDS = 1.0

SessionName = tuple[str, str]

log = logging.getLogger("holdfast.store")


class Cursor(NamedTuple):
    """A place in the store's order; places of two histories cannot be compared."""

    history: str
    major: int
    minor: int


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One place in the store's order, and the event there; None if that is no news, or is not what was written."""

    cursor: Cursor
    tenant: str
    session_id: str
    event: Event | None
    damage: Corrupt | None = None
    """What those who may read the event are told instead of it."""

    @property
    def size(self) -> int:
        """The bytes of its payload."""
        return 0 if self.event is None else len(self.event.payload)


class FeedPage(NamedTuple):
    """Entries that follow one another, and whether there were no more."""

    entries: list[FeedEntry]
    ended: bool
    snapshot: str | None = None
    """What it was read in, if the store's order can hold back events that are there already."""
    heads: Sequence[tuple[SessionName, int]] = ()
    """The sessions with events that were not there yet in the snapshot before, and how far they go."""


class Tail:
    """A session's newest events without a gap, as many as there is room for."""

    __slots__ = ("events", "size")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.size = 0

    def add(self, event: Event) -> bool:
        """Take the event, unless it is there already."""
        events = self.events
        if events and event.seq <= events[-1].seq:
            return False
        if events and (event.seq != events[-1].seq + 1 or event.type == types.EVENTS_ERASED):
            self._drop(len(events))
        events.append(event)
        self.size += len(event.payload)
        if len(events) > 2 * TAIL or self.size > 2 * TAIL_BYTES:
            surplus = max(len(events) - TAIL, 0)
            rest = sum(len(each.payload) for each in events[surplus:])
            while rest > TAIL_BYTES:
                rest -= len(events[surplus].payload)
                surplus += 1
            self._drop(surplus)
        return True

    def _drop(self, number: int) -> None:
        self.size -= sum(len(event.payload) for event in self.events[:number])
        del self.events[:number]


class Hub:
    """The subscribers of one loop; every method but `published` is called on that loop."""

    def __init__(
        self,
        page: Callable[[Cursor, str | None], Awaitable[FeedPage]],
        end: Callable[[], Awaitable[Cursor]],
        tuning: StoreTuning = DEFAULT_TUNING,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._page = page
        self._end = end
        self._tuning = tuning
        self._wake = asyncio.Event()
        self._ready = asyncio.Event()
        self._bells: defaultdict[SessionName | None, set[asyncio.Event]] = defaultdict(set)
        self._tails: OrderedDict[SessionName, Tail] = OrderedDict()
        self._tails_bytes = 0
        self.reads: SharedReads[Any] = SharedReads()
        self._ring: list[FeedEntry] = []
        self._ring_cursors: list[Cursor] = []
        self._ring_bytes = 0
        self._start: Cursor | None = None
        self._noted: str | None = None
        self._snapshot: str | None = None
        self._tailer: asyncio.Task[None] | None = None
        self._at_end = 0.0

    @property
    def lag(self) -> float:
        """Seconds since it last had read all there was; it looks once a second, and with nobody there it has no lag."""
        return 0.0 if self._tailer is None else time.monotonic() - self._at_end

    @contextlib.contextmanager
    def subscribe(self, session: SessionName | None) -> Iterator[asyncio.Event]:
        """A bell that rings when the session (None: any session) may have something new."""
        bell = asyncio.Event()
        self._bells[session].add(bell)
        if self._tailer is None:
            self._at_end = time.monotonic()
            # For everybody, and not in the name of whoever comes first.
            self._tailer = self._loop.create_task(self._tail(), name="holdfast-feed", context=Context())
        try:
            yield bell
        finally:
            self._bells[session].discard(bell)
            if not self._bells[session]:
                del self._bells[session]
                if session is not None and session in self._tails:
                    self._tails_bytes -= self._tails.pop(session).size
            if not self._bells:
                self._stop()

    @property
    def history(self) -> str | None:
        """The history that it follows, once it has a beginning or was told of a commit: what is kept in memory belongs
        to it."""
        return self._noted if self._start is None else self._start.history

    def tails(self) -> list[Tail]:
        """What is kept of each session that is followed."""
        return list(self._tails.values())

    async def ready(self) -> None:
        """Return once the ring has a beginning."""
        await self._ready.wait()

    def recent(self, session: SessionName, after: int) -> list[Event]:
        """The session's next events if they are in memory without a gap; nothing says nothing."""
        tail = self._tails.get(session)
        if tail is None or not tail.events or not tail.events[0].seq <= after + 1 <= tail.events[-1].seq:
            return []
        return tail.events[after + 1 - tail.events[0].seq :]

    def ring_after(self, cursor: Cursor) -> list[FeedEntry] | None:
        """The next entries after a cursor, none at the end; or None if the ring begins later than that."""
        if self._start is None or cursor.history != self._start.history or cursor < self._start:
            return None
        first = bisect_right(self._ring_cursors, cursor)
        entries = self._ring[first : first + PAGE]
        return entries[: count_within((entry.size for entry in entries), PAGE_BYTES)]

    def published(self, recorded: list[RecordedEvent], history: str) -> None:
        """A lane has committed these in a history; called from the lane's thread."""
        if self._bells:
            with contextlib.suppress(RuntimeError):  # the loop was closed
                self._loop.call_soon_threadsafe(self._note, recorded, history)

    def heard(self) -> None:
        """Another process may have committed something; called from any thread."""
        if self._bells:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake.set)

    def _note(self, recorded: list[RecordedEvent], history: str) -> None:
        if self.history is None:
            self._noted = history  # whoever follows by now is told, also of a session that is gone before it is read
        if history == self.history:  # else those who follow look again once this hub has found out
            for entry in recorded:
                session = (entry.tenant, entry.session_id)
                if session in self._bells:
                    self._keep(session, entry.event())
        self._wake.set()

    def _keep(self, session: SessionName, event: Event) -> None:
        bells = self._bells.get(session)
        if not bells:
            return
        tail = self._tails.get(session)
        if tail is None:
            tail = self._tails[session] = Tail()
        before = tail.size
        if tail.add(event):
            self._tails.move_to_end(session)
            self._tails_bytes += tail.size - before
            while self._tails_bytes > self._tuning.tails_bytes:
                self._tails_bytes -= self._tails.popitem(last=False)[1].size
            for bell in bells:
                bell.set()

    async def _tail(self) -> None:
        begun = False
        while True:
            try:
                if self._start is None:
                    begun = False
                    cursor = await self._end()
                    if self._noted not in (None, cursor.history):
                        self._begin_again()
                    self._start = cursor
                    self._ready.set()
                self._wake.clear()
                found = await self._page(cursor, self._snapshot)
                if found.ended:
                    self._at_end = time.monotonic()
                if found.entries:
                    cursor = found.entries[-1].cursor
                    self._take(found.entries)
                self._ring_held(found)
                if not begun:
                    begun = True
                    self._ring_all()  # what came just before is no entry, and may be news to whoever looked earlier
                if not found.entries:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(LOOK_SECONDS):  # wait_for may not notice that it is cancelled
                            await self._wake.wait()
            except HistoryChanged as change:
                log.warning("the live feeds of the store begin again: %s", change)
                self._begin_again()
            except HoldfastError as error:
                log.warning("the live feed could not read the store: %s", error)
                await asyncio.sleep(LOOK_SECONDS)

    def _take(self, entries: list[FeedEntry]) -> None:
        self._ring += entries
        self._ring_cursors += [entry.cursor for entry in entries]
        self._ring_bytes += sum(entry.size for entry in entries)
        if len(self._ring) > 2 * RING or self._ring_bytes > 2 * RING_BYTES:
            self._shorten()
        if any(entry.event is not None and entry.event.type == types.EVENTS_ERASED for entry in entries):
            self._forget()
        for entry in entries:
            if entry.event is not None:
                self._keep((entry.tenant, entry.session_id), entry.event)
            elif entry.damage is not None:
                log.error("session %r of tenant %r: %s", entry.session_id, entry.tenant, entry.damage)
                for bell in self._bells.get((entry.tenant, entry.session_id), ()):
                    bell.set()  # its reader finds the damage too
        for bell in self._bells.get(None, ()):
            bell.set()

    def _ring_held(self, found: FeedPage) -> None:
        """Have those look by seq whose session has events that the store's order still holds back."""
        self._snapshot = found.snapshot
        for session, seq in found.heads:
            tail = self._tails.get(session)
            if tail is None or not tail.events or tail.events[-1].seq < seq:
                for bell in self._bells.get(session, ()):
                    bell.set()

    def _shorten(self) -> None:
        kept = count_within((entry.size for entry in reversed(self._ring)), RING_BYTES) or len(self._ring)
        surplus = len(self._ring) - min(kept, RING)
        if surplus:
            self._start = self._ring_cursors[surplus - 1]
            del self._ring[:surplus]
            del self._ring_cursors[:surplus]
            self._ring_bytes = sum(entry.size for entry in self._ring)

    def _forget(self) -> None:
        """Something was erased: what was read before may still say it, so it is read again."""
        self._start = self._ring_cursors[-1]
        self._ring.clear()
        self._ring_cursors.clear()
        self._ring_bytes = 0

    def _begin_again(self) -> None:
        """What is in memory is of another history: those who follow look for themselves whether they can go on."""
        self._clear()
        self._ring_all()

    def _ring_all(self) -> None:
        for bells in self._bells.values():
            for bell in bells:
                bell.set()

    def _stop(self) -> None:
        if self._tailer is not None:
            self._tailer.cancel()
            self._tailer = None
        self._clear()

    def _clear(self) -> None:
        self._start = self._noted = self._snapshot = None
        self._ready.clear()
        self._ring.clear()
        self._ring_cursors.clear()
        self._ring_bytes = 0
        self._tails.clear()
        self._tails_bytes = 0
