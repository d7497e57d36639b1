"""The log of a session for people: all events, the store's own too, one of them whole, and the user's prompts."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from holdfast.core.errors import NotFound
from holdfast.core.ids import check_name, check_session_id
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import DEFAULT_PAGE, PageLimit, TenantStore
from holdfast.gateway.routes.dashboard.log_window import LogWindow, events_after, newest_events
from holdfast.gateway.routes.dashboard.prompts import newest_prompts, prompts_after
from holdfast.gateway.wire.events import EventView, EventWindow, PromptWindow, event_view
from holdfast.gateway.wire.sessions import DEFAULT_ACTIONS, MAX_ACTIONS
from holdfast.gateway.wire.types import MAX_SEQ
from holdfast.store import ReadLength, StoreSnapshot

MOST_TYPES = 50

Before = Annotated[int | None, Query(ge=0, le=MAX_SEQ, description="only those with a smaller seq")]
After = Annotated[int | None, Query(ge=0, le=MAX_SEQ, description="the oldest with a larger seq")]


def add_routes(routes: APIRouter) -> None:
    """Serve `/api/sessions/{session_id}/events` and `/api/sessions/{session_id}/prompts`."""

    @routes.get(
        "/api/sessions/{session_id}/events",
        summary="All events of a session: the newest, or those after a seq",
        **described({200: EventWindow}),
    )
    async def get_events(
        store: TenantStore,
        session_id: str,
        limit: Annotated[int, Query(ge=1, le=MAX_ACTIONS)] = DEFAULT_ACTIONS,
        before: Before = None,
        after: After = None,
        type: Annotated[
            list[str] | None, Query(max_length=MOST_TYPES, description="only events of these types")
        ] = None,
        full: Annotated[bool, Query(description="also details of more than 64 KiB")] = False,
    ) -> Response:
        check_session_id(session_id)
        types = None if not type else [check_name(name, "an event's type") for name in type]

        def look(snapshot: StoreSnapshot) -> LogWindow:
            session = snapshot.session(session_id)
            if after is None:
                return newest_events(session, limit, before, types)
            return events_after(session, limit, after, before, types)

        found = await store.snapshot(look)
        shown = [event_view(event, whole=full) for event in found.events]
        return json_answer(EventWindow(shown, found.cursor, found.damaged))

    @routes.get("/api/sessions/{session_id}/events/{seq}", summary="One event, whole", **described({200: EventView}))
    async def get_event(store: TenantStore, session_id: str, seq: Annotated[int, Path(ge=0, le=MAX_SEQ)]) -> Response:
        check_session_id(session_id)

        def look(snapshot: StoreSnapshot) -> EventView:
            session = snapshot.session(session_id)
            if not 1 <= seq <= session.head_seq:
                raise NotFound(f"session {session_id!r} has no event {seq}", session_id=session_id, seq=seq)
            return event_view(session.event(seq), whole=True)

        return json_answer(await store.snapshot(look, ReadLength.PAGE))

    @routes.get(
        "/api/sessions/{session_id}/prompts",
        summary="What the user said in a session: the newest, or those after a seq",
        **described({200: PromptWindow}),
    )
    async def get_prompts(
        store: TenantStore,
        session_id: str,
        limit: PageLimit = DEFAULT_PAGE,
        before: Before = None,
        after: After = None,
    ) -> Response:
        check_session_id(session_id)

        def look(snapshot: StoreSnapshot) -> PromptWindow:
            session = snapshot.session(session_id)
            if after is None:
                return newest_prompts(session, limit, before)
            return prompts_after(session, limit, after, before)

        return json_answer(await store.snapshot(look))
