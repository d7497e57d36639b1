"""State: a session's working document, read and patched.

On the wire the document's members stand beside ours: `sessionId` and `version`, and the session's goals and
sub-agents, which have routes of their own. A client may send back what it read: our members are never taken for the
document's. Goals and sub-agents in a patch are the session's, set by their ids in the patch's own transaction.

The ETag is of all that is shown, so a change of a goal changes it as well; `If-Match` is checked in the transaction
that makes the change. `expectedVersion` looks at the document alone.
"""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput, StaleState
from holdfast.core.ids import check_session_id
from holdfast.gateway.api.answers import Answer, answered
from holdfast.gateway.api.body import parse_into, read_body, shaped
from holdfast.gateway.api.cache import Cache
from holdfast.gateway.api.conditions import AskedConditions, tag_of
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import Create, IdempotencyKey, TenantStore, key_of
from holdfast.gateway.routes.children import children_in_patch
from holdfast.gateway.routes.view import Children, children_in, children_of, state_view
from holdfast.gateway.wire.sessions import StatePatch, StateView
from holdfast.store.engine import Tx
from holdfast.store.projection import StateFacts
from holdfast.store.reading import Head, existing_head
from holdfast.store.state import current

CHILDREN = ("goals", "agents")
OURS = frozenset({"sessionId", "version", "expectedVersion", *CHILDREN})

_members = parse_into(dict[str, Any])


def add_routes(routes: APIRouter, cache: Cache) -> None:
    """Serve `/api/state`."""

    @routes.get("/api/state/{session_id}", summary="The session's state", **described({200: StateView, 304: None}))
    async def get_state(store: TenantStore, session_id: str, conditions: AskedConditions) -> Response:
        check_session_id(session_id)

        def look(tx: Tx) -> Answer:
            head = existing_head(tx, store.tenant, session_id)
            facts = current(tx, head)
            return shown(session_id, facts.version, facts.document, children_in(tx, head))

        found = await cache.answer(store, ("state", session_id), look)
        assert found.tag is not None
        return not_modified(found.tag) if conditions.is_known(found.tag) else answered(found)

    @routes.patch(
        "/api/state/{session_id}",
        summary="Merge a patch into the session's state",
        **described({200: StateView}, body=StatePatch),
    )
    async def patch_state(
        store: TenantStore,
        session_id: str,
        request: Request,
        conditions: AskedConditions,
        create: Create = True,
        idempotency_key: IdempotencyKey = None,
    ) -> Response:
        def check(tx: Tx, head: Head | None, facts: StateFacts) -> None:
            if head is None:
                conditions.check_write(None)
            else:
                now = shown(session_id, facts.version, facts.document, children_in(tx, head))
                conditions.check_write(now.tag)

        body = await read_body(request, _members)
        if body.get("sessionId", session_id) != session_id:
            raise InvalidInput(f"the body is the state of another session, {body['sessionId']!r:.80}")
        patch = shaped(body, StatePatch)
        try:
            state = await store.state.patch(
                session_id,
                {name: value for name, value in body.items() if name not in OURS},
                expected_version=patch.expected_version,
                idempotency_key=key_of(idempotency_key),
                create=create,
                check=check if conditions.any else None,
                children=children_in_patch(patch, [body.get(name) for name in CHILDREN]),
            )
        except StaleState as stale:
            children = await children_of(store, session_id)
            now = state_view(session_id, stale.details["version"], stale.details["state"], children)
            raise StaleState(stale.message, **{**stale.details, "state": now}) from None
        children = await children_of(store, session_id)
        return answered(shown(session_id, state.version, state.document, children))


def shown(session_id: str, version: int, document: dict[str, Any], children: Children) -> Answer:
    """The state as an answer, with its tag."""
    body = strict_json.encode(state_view(session_id, version, document, children))
    return Answer(body, tag_of(version, body))


def not_modified(tag: str) -> Response:
    """The answer to a reader that has it already."""
    return Response(status_code=304, headers={"ETag": tag})
