"""State: a session's working document, read and patched.

On the wire the document's members stand beside two of ours, `sessionId` and `version`. A client may send back what
it read: our members are never taken for the document's.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core import State
from holdfast.core.errors import InvalidInput, StaleState
from holdfast.gateway.answers import document, json_answer
from holdfast.gateway.body import parse_into, read_body, shaped
from holdfast.gateway.openapi import described
from holdfast.gateway.wire import StatePatch, StateView
from holdfast.store import Store

OURS = frozenset({"sessionId", "version", "expectedVersion"})

_members = parse_into(dict[str, Any])


def add_routes(routes: APIRouter, store: Store) -> None:
    """Serve `/api/state`."""

    @routes.get("/api/state/{session_id}", summary="The session's state", **described({200: StateView}))
    async def get_state(session_id: str) -> Response:
        return json_answer(document(state_view(await store.state.get(session_id))))

    @routes.patch(
        "/api/state/{session_id}",
        summary="Merge a patch into the session's state",
        **described({200: StateView}, body=StatePatch),
    )
    async def patch_state(
        session_id: str,
        request: Request,
        create: Annotated[bool, Query(description="false refuses a session that does not exist")] = True,
        idempotency_key: Annotated[str | None, Header()] = None,
    ) -> Response:
        body = await read_body(request, _members)
        if body.get("sessionId", session_id) != session_id:
            raise InvalidInput(f"the body is the state of another session, {body['sessionId']!r:.80}")
        try:
            state = await store.state.patch(
                session_id,
                {name: value for name, value in body.items() if name not in OURS},
                expected_version=shaped(body, StatePatch).expected_version,
                idempotency_key=idempotency_key or None,
                create=create,
            )
        except StaleState as stale:
            now = state_members(session_id, stale.details["version"], stale.details["state"])
            raise StaleState(stale.message, **{**stale.details, "state": now}) from None
        return json_answer(document(state_view(state)))


def state_view(state: State) -> dict[str, Any]:
    """The state as clients see it."""
    return state_members(state.session_id, state.version, state.document)


def state_members(session_id: str, version: int, members: dict[str, Any]) -> dict[str, Any]:
    """The document's members and ours."""
    return {**members, "sessionId": session_id, "version": version}
