"""Live feeds: a subscriber is a cursor, not a queue.

A session's feed goes on after a seq; the whole store's after an opaque cursor that every envelope carries. Nothing
is missed, doubled or reordered, however slow the reader: what is no longer in memory is read from the database.
What a fork or an import copied is not news, and neither is what was deleted since: only that it was deleted.
A cursor names its store, so one from before a restore is refused and never misread.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass

from holdfast.core import Event
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_session_id
from holdfast.store.engine import Engine, Recorded, Row, Tx
from holdfast.store.hub import PAGE, PAGE_BYTES, Cursor, Entry, Hub, Page
from holdfast.store.part import Part, Workers
from holdfast.store.reading import END, EVENT, checked, existing_head, fitting, stretch
from holdfast.store.shares import Length

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
class Envelope:
    """One event of the whole-store feed; `cursor` asks for what follows it."""

    cursor: str
    session_id: str
    event: Event


class Hubs:
    """The hub of each loop that has subscribers."""

    def __init__(self, engine: Engine, workers: Workers) -> None:
        self._workers = workers
        self._by_loop: dict[asyncio.AbstractEventLoop, Hub] = {}
        self._page_sql = PAGE_SQL.format(**engine.feed_order._asdict())
        self._end_sql = engine.feed_end_sql
        engine.listen(self._heard)

    def here(self) -> Hub:
        """The running loop's hub."""
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            self._by_loop = {known: hub for known, hub in self._by_loop.items() if not known.is_closed()}
            self._by_loop[loop] = Hub(self.news, self.end)
        return self._by_loop[loop]

    def lag(self) -> float:
        """The seconds by which the hub that is furthest behind has not read what there is."""
        return max((hub.lag for hub in tuple(self._by_loop.values())), default=0.0)

    def published(self, recorded: list[Recorded]) -> None:
        """A lane has committed these; called from the lane's thread."""
        for hub in tuple(self._by_loop.values()):
            hub.published(recorded)

    async def news(self, cursor: Cursor) -> Page:
        """What follows a cursor in the store's order, for all who follow."""
        return await self._workers.read(self.page(cursor), Length.PAGE)

    def page(self, cursor: Cursor, most_bytes: int = PAGE_BYTES) -> Callable[[Tx], Page]:
        """How to read what follows a cursor in the store's order, as many as have so many bytes together, or one."""

        def run(tx: Tx) -> Page:
            rows = tx.all(self._page_sql, *cursor, PAGE, SMALL)
            fit = fitting((row[5] for row in rows), most_bytes)
            ended = fit is None and len(rows) < PAGE
            rows = rows[:fit]
            if any(row[5] > SMALL for row in rows):
                rows = tx.all(self._page_sql, *cursor, len(rows), END)
            return Page([_entry(row) for row in rows], ended)

        return run

    async def end(self) -> Cursor:
        """The cursor after everything that is there now."""

        def run(tx: Tx) -> Cursor:
            row = tx.one(self._end_sql)
            assert row is not None
            return (row[0], row[1])

        return await self._workers.read(run, Length.LOOK)

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

        def stored(tx: Tx) -> list[Event]:
            head = existing_head(tx, self.tenant, session_id)
            return stretch(tx, head, after, None, PAGE, most_bytes=HELD_BYTES).events

        def look() -> Awaitable[list[Event]]:
            return self.workers.read(stored)

        with hub.subscribe(name) as bell:
            begun = False
            while True:
                bell.clear()
                events = (hub.recent(name, after) or await hub.reads.read((name, after), look))[::-1]
                news = bool(events)
                while events:
                    after = events[-1].seq
                    yield events.pop()  # and not held here: it may be large, and whoever takes it slow
                if not news and begun:
                    await bell.wait()
                elif not news:
                    # The hub tells of what comes after its beginning, so one more look is taken once it has one.
                    await hub.ready()
                    begun = True

    async def everything(self, cursor: str | None = None) -> AsyncGenerator[Envelope]:
        """The tenant's events after a cursor (None: from now), in the store's order, for ever."""
        hub = self.hubs.here()

        async def look() -> list[Entry]:
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
                    if found[-1].tenant == self.tenant and found[-1].event is not None:
                        yield self._envelope(found.pop())  # and not held here
                    else:
                        found.pop()
                if not news:
                    await bell.wait()

    def _envelope(self, entry: Entry) -> Envelope:
        assert entry.event is not None
        return Envelope(self.cursor_text(entry.cursor), entry.session_id, entry.event)

    async def now(self) -> str:
        """The cursor after everything that is there now."""
        return self.cursor_text(await self.hubs.end())

    def cursor_text(self, place: Cursor) -> str:
        """The cursor as clients see it."""
        return f"{self.store_id}.{place[0]}.{place[1]}"

    def parse_cursor(self, text: str) -> Cursor:
        """The place a cursor stands for; InvalidInput if it is not one of this store's."""
        parts = text.split(".")
        if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) <= 19 for part in parts[1:]):
            raise InvalidInput(f"{text!r:.80} is not a cursor", hint="use the cursor of the last event you got")
        if parts[0] != self.store_id:
            raise InvalidInput(
                "the cursor belongs to another store",
                hint="the store was restored or replaced: read the sessions again and follow from now",
            )
        return int(parts[1]), int(parts[2])


def _entry(row: Row) -> Entry:
    """The row as an entry; what was copied from elsewhere, or is on its way out, is not news."""
    return Entry((row[0], row[1]), row[2], row[3], checked(row[6:]) if row[4] else None)
