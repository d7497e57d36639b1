"""Live feeds: a subscriber is a cursor, not a queue.

A session's feed goes on after a seq; the whole store's after an opaque cursor that every envelope carries. Nothing
is missed, doubled or reordered, however slow the reader: what is no longer in memory is read from the database.
What a fork or an import copied is not news, and neither is what was deleted since: only that it was deleted.
A cursor names its store and the history of that store's order (see `postgres.epochs`), so one from before a restore or
a failover is refused and never misread; a feed that was open ends with HistoryChanged, unless it is a session's and
that session's log is still the one that was read. A damaged event ends its own tenant's feed, and no other's.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.core import Event
from holdfast.core.errors import Corrupt, HistoryChanged, InvalidInput, SessionGone
from holdfast.core.ids import check_session_id
from holdfast.store.engine import Engine, RecordedEvent, Row, Tx
from holdfast.store.feed.hub import PAGE, PAGE_BYTES, Cursor, FeedEntry, FeedPage, Hub
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.log.log_reader import END, EVENT, checked, count_within, existing_head, hash_at, stretch
from holdfast.store.part import Part, Workers
from holdfast.store.tuning import StoreTuning

SMALL = 4 * 1024
"""Bytes of a payload that is read at once; where there are larger ones, it is first seen how many fit a page."""
HELD_BYTES = 128 * 1024
"""What the payloads that are read for one subscriber have together, unless it is one event: they wait until it takes
them, and there may be thousands like it."""

PAGE_SQL = f"""
    SELECT {{cursor}}, s.tenant, s.session_id,
      e.seq > s.copied_seq AND s.life <> 'arriving' AND (r.session_no IS NULL OR e.seq > r.last_seq),
      length(e.payload), {EVENT.replace("e.payload", "CASE WHEN length(e.payload) <= ?4 THEN e.payload END")},
      CASE WHEN r.session_no IS NULL THEN p.hash ELSE r.last_hash END
    FROM transcript_events e
    JOIN sessions s ON s.session_no = e.session_no
    LEFT JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no
    LEFT JOIN transcript_events p ON p.session_no = e.session_no AND p.seq = e.seq - 1
    LEFT JOIN archives r ON r.session_no = e.session_no
    WHERE {{after}} ORDER BY {{order}} LIMIT ?3"""


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """One event of the whole-store feed; `cursor` asks for what follows it."""

    cursor: str
    session_id: str
    event: Event


class LogLook(NamedTuple):
    """What follows in a session's log, the hash of what it follows, and the history in which that was seen."""

    history: str
    last: bytes | None
    events: list[Event]


class Hubs:
    """The hub of each loop that has subscribers."""

    def __init__(self, engine: Engine, workers: Workers, tuning: StoreTuning) -> None:
        self._workers = workers
        self._tuning = tuning
        self._by_loop: dict[asyncio.AbstractEventLoop, Hub] = {}
        self._page_sql = PAGE_SQL.format(**engine.feed_order._asdict())
        self._end_sql = engine.feed_order.end
        self._ahead_sql = engine.feed_order.ahead
        self._heads_sql = engine.feed_order.heads
        engine.listen(self._heard)

    def here(self) -> Hub:
        """The running loop's hub."""
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            self._by_loop = {known: hub for known, hub in self._by_loop.items() if not known.is_closed()}
            self._by_loop[loop] = Hub(self.news, self.end, self._tuning)
        return self._by_loop[loop]

    def lag(self) -> float:
        """The seconds by which the hub that is furthest behind has not read what there is."""
        return max((hub.lag for hub in tuple(self._by_loop.values())), default=0.0)

    def published(self, recorded: list[RecordedEvent], history: str) -> None:
        """A lane has committed these in a history; called from the lane's thread."""
        for hub in tuple(self._by_loop.values()):
            hub.published(recorded, history)

    async def news(self, cursor: Cursor, snapshot: str | None = None) -> FeedPage:
        """What follows a cursor in the store's order, and which sessions have changed since a snapshot, for all who
        follow."""
        read = self.page(cursor)

        def run(tx: Tx) -> FeedPage:
            found = read(tx)
            if self._heads_sql is None:
                return found
            rows = tx.all(self._heads_sql, snapshot)
            heads = [((tenant, session_id), seq) for _, tenant, session_id, seq in rows if tenant is not None]
            return found._replace(snapshot=rows[0][0], heads=heads)

        return await self._workers.read(run, ReadLength.PAGE)

    def page(self, cursor: Cursor, most_bytes: int = PAGE_BYTES) -> Callable[[Tx], FeedPage]:
        """How to read what follows a cursor in the store's order, as many as have so many bytes together, or one."""

        def run(tx: Tx) -> FeedPage:
            _check_history(tx, cursor)
            rows = tx.all(self._page_sql, cursor.major, cursor.minor, PAGE, SMALL)
            fit = count_within((row[5] for row in rows), most_bytes)
            ended = fit is None and len(rows) < PAGE
            rows = rows[:fit]
            if any(row[5] > SMALL for row in rows):
                rows = tx.all(self._page_sql, cursor.major, cursor.minor, len(rows), END)
            return FeedPage([_entry(tx.history, row) for row in rows], ended)

        return run

    async def end(self) -> Cursor:
        """The cursor after everything that is there now."""

        def run(tx: Tx) -> Cursor:
            row = tx.one(self._end_sql)
            return Cursor(tx.history, 0, 0) if row is None else Cursor(tx.history, *row)

        return await self._workers.read(run, ReadLength.LOOK)

    async def check(self, cursor: Cursor) -> None:
        """HistoryChanged if no feed of what is there now could have given out this cursor."""

        def run(tx: Tx) -> None:
            _check_history(tx, cursor)
            if tx.one(self._ahead_sql, cursor.major, cursor.minor) != (False,):
                raise HistoryChanged("the cursor is ahead of the store: the store was restored")

        await self._workers.read(run, ReadLength.LOOK)

    def _heard(self) -> None:
        for hub in tuple(self._by_loop.values()):
            hub.heard()


@dataclass(frozen=True, slots=True)
class Feed(Part):
    """`store.feed`."""

    hubs: Hubs
    store_id: str

    async def session(self, session_id: str, *, after: int = 0) -> AsyncGenerator[Event]:
        """The session's events after a seq: those that are there, then those that come, for ever."""
        check_session_id(session_id)
        name = (self.tenant, session_id)
        hub = self.hubs.here()
        history: str | None = None
        last: bytes | None = None

        def stored(tx: Tx) -> LogLook:
            head = existing_head(tx, self.tenant, session_id)
            here = last
            if here is None or tx.history != history:
                here = hash_at(tx, head, after)
                if history not in (None, tx.history) and (here is None or here != last):
                    raise HistoryChanged(f"the log of session {session_id!r} is not the one that was read")
            events = stretch(tx, head, after, None, PAGE, most_bytes=HELD_BYTES).events
            return LogLook(tx.history, here, events)

        def look() -> Awaitable[LogLook]:
            return self.workers.read(stored)

        with hub.subscribe(name) as bell:
            begun = False
            while True:
                bell.clear()
                events = hub.recent(name, after) if history in (None, hub.history) else []
                if events:
                    history, events = hub.history, events[::-1]
                else:
                    try:
                        found = await hub.reads.read((name, after, history, last), look)
                    except SessionGone:
                        if bell.is_set():
                            continue  # the hub was told meanwhile what came before its end
                        raise
                    history, last, events = found.history, found.last, found.events[::-1]
                    del found
                news = bool(events)
                while events:
                    after, last = events[-1].seq, events[-1].hash
                    yield events.pop()  # and not held here: it may be large, and whoever takes it slow
                if not news and begun:
                    await bell.wait()
                elif not news:
                    # The hub tells of what comes after its beginning, so one more look is taken once it has one.
                    await hub.ready()
                    begun = True

    async def everything(self, cursor: str | None = None) -> AsyncGenerator[FeedEvent]:
        """The tenant's events after a cursor (None: from now), in the store's order, for ever."""
        hub = self.hubs.here()

        async def look() -> list[FeedEntry]:
            return (await self.workers.read(self.hubs.page(place, HELD_BYTES))).entries

        with hub.subscribe(None) as bell:
            await hub.ready()
            place = await self.hubs.end() if cursor is None else self.parse_cursor(cursor)
            while True:
                bell.clear()
                found = hub.ring_after(place)
                if found is None:
                    found = await hub.reads.read(place, look)
                found = found[::-1]
                news = bool(found)
                while found:
                    place = found[-1].cursor
                    if found[-1].tenant != self.tenant:
                        found.pop()
                    elif (damage := found[-1].damage) is not None:
                        raise copy(damage)
                    elif found[-1].event is not None:
                        yield self._envelope(found.pop())  # and not held here
                    else:
                        found.pop()
                if not news:
                    await bell.wait()

    def _envelope(self, entry: FeedEntry) -> FeedEvent:
        assert entry.event is not None
        return FeedEvent(self.cursor_text(entry.cursor), entry.session_id, entry.event)

    async def now(self) -> str:
        """The cursor after everything that is there now."""
        return self.cursor_text(await self.hubs.end())

    async def check(self, cursor: str) -> None:
        """InvalidInput if that is no cursor; HistoryChanged if it is none of what is there now."""
        await self.hubs.check(self.parse_cursor(cursor))

    def cursor_text(self, place: Cursor) -> str:
        """The cursor as clients see it."""
        return f"{self.store_id}{place.history}.{place.major}.{place.minor}"

    def parse_cursor(self, text: str) -> Cursor:
        """The place a cursor stands for; HistoryChanged if it is not one of this store's."""
        parts = text.split(".")
        if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) <= 19 for part in parts[1:]):
            raise InvalidInput(f"{text!r:.80} is not a cursor", hint="use the cursor of the last event you got")
        store_id, dash, history = parts[0].partition("-")
        if store_id != self.store_id:
            raise HistoryChanged("the cursor belongs to another store: the store was restored or replaced")
        return Cursor(dash + history, int(parts[1]), int(parts[2]))


def _check_history(tx: Tx, cursor: Cursor) -> None:
    if cursor.history != tx.history:
        raise HistoryChanged("the cursor is of another history: the store was restored, or its database failed over")


def _entry(history: str, row: Row) -> FeedEntry:
    """The row as an entry; what was copied from elsewhere, or is on its way out, is not news."""
    place = Cursor(history, row[0], row[1])
    try:
        return FeedEntry(place, row[2], row[3], checked(row[6:]) if row[4] else None)
    except Corrupt as damage:  # the trouble of those who may read it, and not of all whose events are on this page
        return FeedEntry(place, row[2], row[3], None, damage)
