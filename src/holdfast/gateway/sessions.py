"""Sessions: describe one, look at one, list them."""

import hashlib
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core import Session, types
from holdfast.core.ids import check_name
from holdfast.gateway import window
from holdfast.gateway.answers import document, json_answer
from holdfast.gateway.body import parse_into, read_body
from holdfast.gateway.openapi import described
from holdfast.gateway.states import state_view
from holdfast.gateway.wire import (
    DEFAULT_ACTIONS,
    MAX_ACTIONS,
    NewSession,
    SessionCreated,
    SessionList,
    SessionView,
    action,
    session_row,
)
from holdfast.store import Store
from holdfast.store.projection import DEFAULT_AGENT
from holdfast.store.sessions import MAX_PAGE

DEFAULT_PAGE = 50

_new_session = parse_into(NewSession)


def add_routes(routes: APIRouter, store: Store) -> None:
    """Serve `/api/sessions`."""

    @routes.post(
        "/api/sessions",
        summary="Describe a session, making it if need be",
        **described({201: SessionCreated, 200: SessionCreated}, body=NewSession),
    )
    async def create_session(request: Request, idempotency_key: Annotated[str | None, Header()] = None) -> Response:
        body = await read_body(request, _new_session)
        done = await store.sessions.create(
            body.session_id or (id_for_key(idempotency_key) if idempotency_key else None),
            user_id=body.user_id,
            agent=body.agent or DEFAULT_AGENT,
            initial=body.initial,
            metadata=body.metadata,
            tags=body.tags or (),
            parent_session=body.parent_session,
        )
        session_id = done.session.session_id
        headers = {"Location": f"/api/sessions/{session_id}"}
        return json_answer(SessionCreated(True, session_id), 201 if done.new else 200, headers)

    @routes.get("/api/sessions", summary="List sessions, newest first", **described({200: SessionList}))
    async def list_sessions(
        user: Annotated[str | None, Query(description="only this user's")] = None,
        cursor: Annotated[str | None, Query(description="the cursor of the page before")] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = DEFAULT_PAGE,
    ) -> Response:
        user_id = check_name(user, "a user id") if user else None
        page = await store.sessions.list(user_id=user_id, cursor=cursor or None, limit=limit)
        rows = [session_row(session, document(session.metadata)) for session in page.sessions]
        return json_answer(SessionList(rows, page.cursor))

    @routes.get(
        "/api/sessions/{session_id}",
        summary="A session with its state and the newest window of its log",
        **described({200: SessionView}),
    )
    async def get_session(
        session_id: str, limit: Annotated[int, Query(ge=1, le=MAX_ACTIONS)] = DEFAULT_ACTIONS
    ) -> Response:
        session = await store.sessions.get(session_id)
        found = await window.newest(store, session_id, limit, None, window.is_entry)
        return json_answer(
            SessionView(
                document(metadata_view(session)),
                document(session.initial),
                document(state_view(await store.state.get(session_id))),
                [action(event) for event in found.events if window.is_action(event)],
                [action(event) for event in found.events if event.type == types.RESPONSE],
                document(None),
                found.cursor,
            )
        )


def metadata_view(session: Session) -> dict[str, Any]:
    """The session's own metadata, with the members of its list row on top."""
    row: dict[str, Any] = msgspec.to_builtins(session_row(session, session.metadata))
    return {**session.metadata, **row}


def id_for_key(key: str) -> str:
    """The id of a session that is made under an idempotency key: a retry makes no second one."""
    return "k-" + hashlib.sha256(key.encode()).hexdigest()[:32]
