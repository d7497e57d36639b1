"""Queries over all sessions: the newest, totals, and full text."""

from dataclasses import astuple
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from holdfast.core import Usage
from holdfast.core.clock import to_iso
from holdfast.gateway.api.answers import Answer, answer_of, answered, json_answer
from holdfast.gateway.api.cache import Cache
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import PageCursor, PageLimit, TenantStore
from holdfast.gateway.routes.listing import session_list
from holdfast.gateway.wire.queries import DamagedEvent, Day, HitList, HitView, Stats, TokenCounts
from holdfast.gateway.wire.sessions import SessionList
from holdfast.store import DAY_MS, MAX_HITS, StoreSnapshot

DEFAULT_RECENT = 20
DEFAULT_DAYS = 30
MOST_DAYS = 3_660


def add_routes(routes: APIRouter, cache: Cache) -> None:
    """Serve `/api/query`."""

    @routes.get("/api/query/recent", summary="The newest sessions", **described({200: SessionList}))
    async def get_recent(store: TenantStore, limit: PageLimit = DEFAULT_RECENT) -> Response:
        def look(snapshot: StoreSnapshot) -> Answer:
            return answer_of(session_list(snapshot.newest_sessions(limit)))

        return answered(await cache.answer(store, ("recent", limit), look))

    @routes.get("/api/query/stats", summary="Totals by status and by day", **described({200: Stats}))
    async def get_stats(
        store: TenantStore,
        days: Annotated[int, Query(ge=1, le=MOST_DAYS, description="how many days to go back")] = DEFAULT_DAYS,
    ) -> Response:
        first = store.clock.now() // DAY_MS - days + 1

        def look(snapshot: StoreSnapshot) -> Answer:
            return answer_of(stats(snapshot, first))

        return answered(await cache.answer(store, ("stats", first), look))

    @routes.get("/api/query/usage", summary="The tokens of one session", **described({200: TokenCounts}))
    async def get_usage(store: TenantStore, session: Annotated[str, Query(description="of this session")]) -> Response:
        return json_answer(tokens(await store.usage.session(session)))

    @routes.get("/api/query/search", summary="Find events by their words, newest first", **described({200: HitList}))
    async def search(
        store: TenantStore,
        q: Annotated[str, Query(description='`word`, `"a phrase"`, `pre*`, `-without`')],
        session: Annotated[str | None, Query(description="only in this session")] = None,
        user: Annotated[str | None, Query(description="only in this user's sessions")] = None,
        type: Annotated[list[str] | None, Query(description="only events of these types")] = None,
        cursor: PageCursor = None,
        limit: Annotated[int, Query(ge=1, le=MAX_HITS)] = 20,
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
            HitView(
                hit.session_id,
                hit.seq,
                hit.event_id,
                hit.type,
                to_iso(hit.created_at),
                hit.snippet,
                list(hit.highlights),
                hit.size_bytes,
            )
            for hit in found.hits
        ]
        damaged = [DamagedEvent(each.session_id, each.seq, each.problem) for each in found.damaged]
        return json_answer(HitList(hits, found.cursor, damaged))


def stats(snapshot: StoreSnapshot, first: int) -> Stats:
    """The tenant's totals, and those of each day from the first on."""
    sums, begun = snapshot.totals(), snapshot.begun_by_day(first)
    used: dict[int, Usage] = {}
    ever = Usage()
    for row in snapshot.usage_by_day():
        ever = both(ever, row.usage)
        if row.day >= first:
            used[row.day] = both(used.get(row.day, Usage()), row.usage)
    days = [
        Day(to_iso(day * DAY_MS)[:10], begun.get(day, 0), tokens(used.get(day, Usage())))
        for day in sorted({*begun, *used}, reverse=True)
    ]
    return Stats(sums.sessions, sums.by_status, sums.events, sums.size_bytes, tokens(ever), days)


def both(one: Usage, other: Usage) -> Usage:
    """Two amounts of usage together."""
    return Usage(*(a + b for a, b in zip(astuple(one), astuple(other), strict=True)))


def tokens(used: Usage) -> TokenCounts:
    """An amount of usage as clients see it."""
    return TokenCounts(*astuple(used))
