"""Sessions: describe one, look at one, list them, go on with one."""

import hashlib
from typing import Annotated

from fastapi import APIRouter, Query
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core import types
from holdfast.gateway.api.answers import document, json_answer
from holdfast.gateway.api.body import parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import DEFAULT_PAGE, IdempotencyKey, PageCursor, PageLimit, TenantStore
from holdfast.gateway.routes import window
from holdfast.gateway.routes.dashboard.summaries import summary_view
from holdfast.gateway.routes.listing import SessionQuery, list_sessions, list_with_summaries, shown_rows
from holdfast.gateway.routes.view import Children, final_view, metadata_view, state_view, whole_session
from holdfast.gateway.wire.children import agent, effect, goal, snapshot
from holdfast.gateway.wire.forks import ResumeView
from holdfast.gateway.wire.sessions import (
    DEFAULT_ACTIONS,
    MAX_ACTIONS,
    NewSession,
    SessionList,
    SessionMade,
    SessionView,
    action,
    session_row,
)
from holdfast.store import DEFAULT_TAIL, MAX_TAIL

Summaries = Annotated[bool, Query(description="what there is to say of a session beside its row")]

_new_session = parse_into(NewSession)


def add_routes(routes: APIRouter) -> None:
    """Serve `/api/sessions`."""

    @routes.post(
        "/api/sessions",
        summary="Describe a session, making it if need be",
        **described({201: SessionMade, 200: SessionMade}, body=NewSession),
    )
    async def create_session(store: TenantStore, request: Request, idempotency_key: IdempotencyKey = None) -> Response:
        body = await read_body(request, _new_session)
        done = await store.sessions.create(
            body.session_id or (id_for_key(idempotency_key) if idempotency_key else None),
            user_id=body.user_id,
            agent=body.agent,
            initial=body.initial,
            metadata=body.metadata,
            tags=body.tags or (),
            parent_session=body.parent_session,
        )
        session_id = done.session.session_id
        headers = {"Location": f"/api/sessions/{session_id}"}
        return json_answer(SessionMade(True, session_id), 201 if done.new else 200, headers)

    @routes.get("/api/sessions", summary="List sessions, newest first", **described({200: SessionList}))
    async def get_sessions(
        store: TenantStore,
        user: Annotated[str | None, Query(description="only this user's")] = None,
        tag: Annotated[str | None, Query(description="only those with this tag")] = None,
        status: Annotated[str | None, Query(description="only those with this status")] = None,
        q: Annotated[str | None, Query(description="only those in which these words are found")] = None,
        began_from: Annotated[
            str | None, Query(alias="from", description="only those that began then or later")
        ] = None,
        began_to: Annotated[str | None, Query(alias="to", description="only those begun earlier")] = None,
        agent: Annotated[str | None, Query(description="only this agent's")] = None,
        held: Annotated[bool | None, Query(description="only those under legal hold, or only the others")] = None,
        summaries: Summaries = False,
        cursor: PageCursor = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> Response:
        asked = SessionQuery.of(
            user=user,
            tag=tag,
            status=status,
            words=q,
            began_from=began_from,
            began_to=began_to,
            agent=agent,
            held=held,
        )
        if summaries:
            return json_answer(await list_with_summaries(store, asked, cursor or None, limit))
        return await shown_rows(store, await list_sessions(store, asked, cursor or None, limit))

    @routes.get(
        "/api/sessions/{session_id}",
        summary="A session with its state and the newest window of its log",
        **described({200: SessionView}),
    )
    async def get_session(
        store: TenantStore,
        session_id: str,
        limit: Annotated[int, Query(ge=1, le=MAX_ACTIONS)] = DEFAULT_ACTIONS,
        summaries: Summaries = False,
    ) -> Response:
        found = await whole_session(store, session_id, limit, summed_up=summaries)
        events = found.window.events
        return json_answer(
            SessionView(
                document(metadata_view(found.session)),
                document(found.session.initial),
                document(state_view(session_id, found.state.version, found.state.document, found.children)),
                [action(event) for event in events if window.is_action(event)],
                [action(event) for event in events if event.type == types.RESPONSE],
                document(final_view(found.session)),
                found.window.cursor,
                found.damaged,
                UNSET if found.summary is None else summary_view(found.session, found.summary),
            )
        )

    @routes.get(
        "/api/sessions/{session_id}/resume",
        summary="All that a program needs to go on with a session",
        **described({200: ResumeView}),
    )
    async def resume_session(
        store: TenantStore, session_id: str, limit: Annotated[int, Query(ge=1, le=MAX_TAIL)] = DEFAULT_TAIL
    ) -> Response:
        found = await store.resume(session_id, limit=limit)
        children = Children(found.goals, found.agents, found.goals_omitted, found.agents_omitted)
        return json_answer(
            ResumeView(
                session_row(found.session, document(found.session.metadata)),
                None if found.snapshot is None else snapshot(found.snapshot),
                [action(event) for event in found.events],
                found.complete,
                document(state_view(session_id, found.state.version, found.state.document, children)),
                [goal(each) for each in found.goals],
                [agent(each) for each in found.agents],
                [effect(each) for each in found.effects],
                found.goals_omitted or UNSET,
                found.agents_omitted or UNSET,
                found.effects_omitted or UNSET,
            )
        )


def add_user_route(routes: APIRouter) -> None:
    """Serve `/api/sessions/user`: after all other routes of sessions, so that it hides none of them."""

    @routes.get(
        "/api/sessions/user/{user_id:path}",
        summary="List a user's sessions, newest first",
        **described({200: SessionList}),
    )
    async def get_user_sessions(
        store: TenantStore, user_id: str, cursor: PageCursor = None, limit: PageLimit = DEFAULT_PAGE
    ) -> Response:
        page = await list_sessions(store, SessionQuery.of(user=user_id), cursor or None, limit)
        return await shown_rows(store, page)


def id_for_key(key: str) -> str:
    """The id of a session that is made under an idempotency key: a retry makes no second one."""
    return "k-" + hashlib.sha256(key.encode()).hexdigest()[:32]
