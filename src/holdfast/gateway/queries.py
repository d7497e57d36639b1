"""Queries over all sessions: the newest, totals, and full text."""

from dataclasses import astuple
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from holdfast.core import Usage
from holdfast.core.clock import to_iso
from holdfast.gateway.answers import json_answer
from holdfast.gateway.listing import Asked, list_sessions, shown_rows
from holdfast.gateway.openapi import described
from holdfast.gateway.parameters import PageCursor, PageLimit
from holdfast.gateway.wire import SessionList
from holdfast.gateway.wire_finding import DamagedEvent, Day, Hit, Hits, Stats, Tokens
from holdfast.store import Store
from holdfast.store.engine import Tx
from holdfast.store.projection import DAY_MS
from holdfast.store.search import MAX_PAGE
from holdfast.store.totals import Totals, begun_by_day, totals

DEFAULT_RECENT = 20
DEFAULT_DAYS = 30
MOST_DAYS = 3_660


def add_routes(routes: APIRouter, store: Store) -> None:
    """Serve `/api/query`."""

    @routes.get("/api/query/recent", summary="The newest sessions", **described({200: SessionList}))
    async def get_recent(limit: PageLimit = DEFAULT_RECENT) -> Response:
        return shown_rows(await list_sessions(store, Asked.of(), None, limit))

    @routes.get("/api/query/stats", summary="Totals by status and by day", **described({200: Stats}))
    async def get_stats(
        days: Annotated[int, Query(ge=1, le=MOST_DAYS, description="how many days to go back")] = DEFAULT_DAYS,
    ) -> Response:
        first = store.sessions.clock.now() // DAY_MS - days + 1

        def look(tx: Tx) -> tuple[Totals, dict[int, int]]:
            return totals(tx, store.tenant), begun_by_day(tx, store.tenant, first)

        sums, begun = await store.sessions.workers.read(look)
        used: dict[int, Usage] = {}
        ever = Usage()
        for row in await store.usage.by_day():
            ever = both(ever, row.usage)
            if row.day >= first:
                used[row.day] = both(used.get(row.day, Usage()), row.usage)
        found = [
            Day(to_iso(day * DAY_MS)[:10], begun.get(day, 0), tokens(used.get(day, Usage())))
            for day in sorted({*begun, *used}, reverse=True)
        ]
        return json_answer(Stats(sums.sessions, sums.by_status, sums.events, sums.size_bytes, tokens(ever), found))

    @routes.get("/api/query/search", summary="Find events by their words, newest first", **described({200: Hits}))
    async def search(
        q: Annotated[str, Query(description='`word`, `"a phrase"`, `pre*`, `-without`')],
        session: Annotated[str | None, Query(description="only in this session")] = None,
        user: Annotated[str | None, Query(description="only in this user's sessions")] = None,
        type: Annotated[list[str] | None, Query(description="only events of these types")] = None,
        cursor: PageCursor = None,
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 20,
    ) -> Response:
        found = await store.search.find(
            q,
            session_id=session or None,
            user_id=user or None,
            types=type or None,
            limit=limit,
            cursor=cursor or None,
        )
        hits = [
            Hit(
                hit.session_id,
                hit.seq,
                hit.event_id,
                hit.type,
                to_iso(hit.created_at),
                hit.snippet,
                list(hit.highlights),
            )
            for hit in found.hits
        ]
        damaged = [DamagedEvent(each.session_id, each.seq, each.problem) for each in found.damaged]
        return json_answer(Hits(hits, found.cursor, damaged))


def both(one: Usage, other: Usage) -> Usage:
    """Two amounts of usage together."""
    return Usage(*(a + b for a, b in zip(astuple(one), astuple(other), strict=True)))


def tokens(used: Usage) -> Tokens:
    """An amount of usage as clients see it."""
    return Tokens(*astuple(used))
