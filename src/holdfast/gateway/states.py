"""State: a session's working document, read and patched.

On the wire the document's members stand beside ours: `sessionId` and `version`, and the session's goals and
sub-agents, which have routes of their own. A client may send back what it read: our members are never taken for the
document's. Goals and agents other than ours are kept in the document as they came.
"""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.errors import InvalidInput, StaleState
from holdfast.core.ids import check_session_id
from holdfast.gateway.answers import document, json_answer
from holdfast.gateway.body import parse_into, read_body, shaped
from holdfast.gateway.openapi import described
from holdfast.gateway.parameters import Create, IdempotencyKey, key_of
from holdfast.gateway.view import children_of, children_view, state_and_children, state_view
from holdfast.gateway.wire import StatePatch, StateView
from holdfast.store import Store

OURS = frozenset({"sessionId", "version", "expectedVersion"})
CHILDREN = frozenset({"goals", "agents"})

_members = parse_into(dict[str, Any])


def add_routes(routes: APIRouter, store: Store) -> None:
    """Serve `/api/state`."""

    @routes.get("/api/state/{session_id}", summary="The session's state", **described({200: StateView}))
    async def get_state(session_id: str) -> Response:
        state, children = await state_and_children(store, session_id)
        return json_answer(document(state_view(session_id, state.version, state.document, children)))

    @routes.patch(
        "/api/state/{session_id}",
        summary="Merge a patch into the session's state",
        **described({200: StateView}, body=StatePatch),
    )
    async def patch_state(
        session_id: str, request: Request, create: Create = True, idempotency_key: IdempotencyKey = None
    ) -> Response:
        body = await read_body(request, _members)
        if body.get("sessionId", session_id) != session_id:
            raise InvalidInput(f"the body is the state of another session, {body['sessionId']!r:.80}")
        try:
            state = await store.state.patch(
                session_id,
                await without_ours(store, session_id, body),
                expected_version=shaped(body, StatePatch).expected_version,
                idempotency_key=key_of(idempotency_key),
                create=create,
            )
        except StaleState as stale:
            children = await children_of(store, session_id)
            now = state_view(session_id, stale.details["version"], stale.details["state"], children)
            raise StaleState(stale.message, **{**stale.details, "state": now}) from None
        children = await children_of(store, session_id)
        return json_answer(document(state_view(session_id, state.version, state.document, children)))


async def without_ours(store: Store, session_id: str, body: dict[str, Any]) -> dict[str, Any]:
    """The members of a body that are the document's."""
    ours: dict[str, Any] = {}
    if not body.keys().isdisjoint(CHILDREN):
        ours = dict(children_view(await children_of(store, check_session_id(session_id))))
    return {
        name: value for name, value in body.items() if name not in OURS and not (name in ours and value == ours[name])
    }
