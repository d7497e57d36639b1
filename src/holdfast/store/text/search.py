"""Search: find events by their words, newest first.

What was acknowledged before a search began is found: the search first brings the index up to the events it can see.
Every hit whose text is shown is checked against its hash; an event that is not what was written is named as damaged,
never shown. A large event is found by its words and not read: the hit says how large it is, and shows nothing of it.
What one page reads is bounded: where it would be more, the page ends early, and its cursor goes on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from holdfast.core.errors import Corrupt, HistoryChanged, InvalidInput
from holdfast.core.ids import check_name, check_session_id
from holdfast.store.engine import Engine, Row, Tx
from holdfast.store.lanes.lane import MAX_WEIGHT
from holdfast.store.log.log_reader import COLUMNS, checked, count_within, existing_head
from holdfast.store.part import Part
from holdfast.store.text.tokenizer import Query, parse_query, snippet, texts
from holdfast.store.text.word_index import LOCK, IndexPlace, behind, index, session_scope, tenant_scope

MAX_HITS = 100
MAX_TYPES = 100
END = 2**63 - 1
SMALL = 16 * 1024
"""Bytes of a payload that is read together with others."""
LARGE = 256 * 1024
"""Bytes of a payload from which on it is not read."""
PAGE_BYTES = 2 * 1024 * 1024
"""What the payloads that a page reads have together, at most."""

FIND = f"""
    SELECT e.pos, s.session_id, length(e.payload),
      {COLUMNS.replace("e.payload", f"CASE WHEN length(e.payload) <= {SMALL} THEN e.payload END")}
    FROM event_text t CROSS JOIN transcript_events e CROSS JOIN sessions s
    LEFT JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no
    LEFT JOIN transcript_events p ON p.session_no = e.session_no AND p.seq = e.seq - 1
    WHERE {{matches}} AND t.rowid < ?2 AND e.pos = t.rowid AND e.erased IS NULL
      AND s.session_no = e.session_no AND s.tenant = ?3 AND s.life = 'live' {{narrower}}
    ORDER BY t.rowid DESC LIMIT ?4"""
PAYLOAD = "SELECT payload FROM transcript_events WHERE pos = ?1"


@dataclass(frozen=True, slots=True)
class Hit:
    """An event that was found, and the text around the first match; highlights are (start, end) in the snippet.

    Of an event that is too large to be read, the snippet is None.
    """

    session_id: str
    seq: int
    event_id: str
    type: str
    created_at: int
    snippet: str | None
    highlights: tuple[tuple[int, int], ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class DamagedHit:
    """An event that matches but is not what was written, and what is wrong with it."""

    session_id: str
    seq: int
    problem: str


@dataclass(frozen=True, slots=True)
class HitPage:
    """One page of hits, newest first; `cursor` asks for the next, None at the end."""

    hits: tuple[Hit, ...]
    cursor: str | None
    damaged: tuple[DamagedHit, ...] = ()


@dataclass(frozen=True, slots=True)
class Search(Part):
    """`store.search`."""

    engine: Engine

    async def find(
        self,
        query: str,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        types: Iterable[str] | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> HitPage:
        """The events that have every word asked for: `word`, `"a phrase"`, `pre*`, `-without`; see docs/store.md."""
        asked = parse_query(query)
        if session_id is not None:
            check_session_id(session_id)
        if user_id is not None:
            check_name(user_id, "a user id")
        wanted = None if types is None else _check_types(types)
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_HITS:
            raise InvalidInput(f"limit must be 1 to {MAX_HITS}, not {limit!r:.80}")
        name, before = (None, END) if cursor is None else _parse_cursor(cursor)

        def read(tx: Tx) -> HitPage | IndexPlace:
            if name not in (None, self.engine.store_id + tx.history):
                raise HistoryChanged(
                    "the cursor belongs to another store, or to this one before it was restored or failed over",
                    hint="search again from the first page",
                )
            return behind(tx, self.engine.text) or self._page(tx, asked, session_id, user_id, wanted, limit, before)

        found = await self.workers.read(read)
        if isinstance(found, IndexPlace):
            await self._catch_up(found)
            found = await self.workers.read(
                lambda tx: self._page(tx, asked, session_id, user_id, wanted, limit, before)
            )
        return found

    async def _catch_up(self, end: IndexPlace) -> None:
        """Index until everything up to `end` is; others write between the steps."""
        reached: IndexPlace | None = IndexPlace(0, 0, 0)
        while reached is not None and reached < end:
            reached = await self.workers.write(lambda tx: index(tx, self.engine.text), (LOCK,), MAX_WEIGHT)

    def _page(
        self,
        tx: Tx,
        asked: Query,
        session_id: str | None,
        user_id: str | None,
        types: list[str] | None,
        limit: int,
        before: int,
    ) -> HitPage:
        text = self.engine.text
        scope = tenant_scope(self.tenant)
        if session_id is not None:
            scope = session_scope(existing_head(tx, self.tenant, session_id).session_no)
        arguments: list[Any] = [text.query(asked, scope), before, self.tenant, limit + 1]
        narrower = []
        if session_id is not None:
            arguments.append(session_id)
            narrower.append(f"AND s.session_id = ?{len(arguments)}")
        if user_id is not None:
            arguments.append(user_id)
            narrower.append(f"AND s.user_id = ?{len(arguments)}")
        if types is not None:
            first = len(arguments) + 1
            arguments += types
            narrower.append(f"AND i.type IN ({', '.join(f'?{n}' for n in range(first, len(arguments) + 1))})")
        rows = tx.all(FIND.format(matches=text.matches, narrower=" ".join(narrower)), *arguments)
        fit = count_within((row[2] if row[2] < LARGE else 0 for row in rows[:limit]), PAGE_BYTES) or limit
        read = [_hit(_whole(tx, row), asked) for row in rows[:fit]]
        return HitPage(
            tuple(hit for hit in read if isinstance(hit, Hit)),
            f"{self.engine.store_id}{tx.history}.{rows[fit - 1][0]}" if len(rows) > fit else None,
            tuple(hit for hit in read if isinstance(hit, DamagedHit)),
        )


def _parse_cursor(text: str) -> tuple[str, int]:
    """The store and history that a cursor names, and the place where its page ended."""
    name, _, place = text.partition(".") if isinstance(text, str) else ("", "", "")
    if not (place.isascii() and place.isdigit() and len(place) <= 19):
        raise InvalidInput(f"{text!r:.80} is not a cursor of a search", hint="use the cursor of the page before")
    return name, min(int(place), END)


def _check_types(types: Iterable[str]) -> list[str]:
    wanted = sorted({check_name(type_, "an event's type") for type_ in types})
    if not 1 <= len(wanted) <= MAX_TYPES:
        raise InvalidInput(f"types must be 1 to {MAX_TYPES} types, not {len(wanted)}", hint="None finds every type")
    return wanted


def _whole(tx: Tx, row: Row) -> Row:
    """The row with its payload, unless that is large: one of those at a time."""
    if row[6] is not None or row[2] >= LARGE:
        return row
    payload = tx.one(PAYLOAD, row[0])
    assert payload is not None
    return (*row[:6], payload[0], *row[7:])


def _hit(row: Row, asked: Query) -> Hit | DamagedHit:
    session_id, size, seq, event_id, type_, payload, created_at = row[1:8]
    if payload is None and event_id is not None:
        return Hit(session_id, seq, event_id, type_, created_at, None, (), size)
    try:
        event = checked(row[3:])
    except Corrupt as error:
        return DamagedHit(session_id, seq, error.message)
    shown = snippet(asked, texts(event.payload))
    return Hit(session_id, seq, event_id, type_, created_at, shown.text, shown.highlights, size)
