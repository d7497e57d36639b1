"""State: a session's working document, read and patched.

On the wire the document's members stand beside ours: `sessionId` and `version`, and the session's goals and
sub-agents, which have routes of their own. A client may send back what it read: our members are never taken for the
document's. Goals and sub-agents in a patch are the session's, set by their ids in the patch's own transaction.

The ETag is of all that is shown, so a change of a goal changes it as well; `If-Match` is checked in the transaction
that makes the change. `expectedVersion` looks at the document alone.
"""

from typing import Any

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput, StaleState
from holdfast.core.ids import check_session_id
from holdfast.core.large_json import LARGE, LARGE_JSON
from holdfast.gateway.api.answers import Answer, answered, document
from holdfast.gateway.api.body import parse_into, read_body, shaped
from holdfast.gateway.api.cache import Cache
from holdfast.gateway.api.conditions import AskedConditions, tag_of
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import Create, IdempotencyKey, TenantStore, key_of
from holdfast.gateway.routes.children import children_in_patch
from holdfast.gateway.routes.view import Children, children_in, children_of, state_view
from holdfast.gateway.wire.sessions import StatePatch, StateView
from holdfast.store import EMPTY_STATE, ReadLength, SessionSnapshot, StateDocument, StoreSnapshot

CHILDREN = ("goals", "agents")
OURS = frozenset({"sessionId", "version", "expectedVersion", *CHILDREN})
SHOWN = tuple(name.encode() for name in (*CHILDREN, "sessionId", "version"))
"""What our members' names begin with: where none of it is in a state's bytes, no member of the document has one of
them. Without their quotes they are found, or missed, many times faster."""

_members = parse_into(dict[str, Any])


def add_routes(routes: APIRouter, cache: Cache) -> None:
    """Serve `/api/state`."""

    @routes.get("/api/state/{session_id}", summary="The session's state", **described({200: StateView, 304: None}))
    async def get_state(store: TenantStore, session_id: str, conditions: AskedConditions) -> Response:
        check_session_id(session_id)

        def look(snapshot: StoreSnapshot) -> Answer:
            session = snapshot.session(session_id)
            return shown(session_id, session.document(), children_in(session))

        found = await cache.answer(store, ("state", session_id), look, ReadLength.PAGE)
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
        def check(session: SessionSnapshot | None, now: StateDocument) -> None:
            there = None if session is None else shown(session_id, now, children_in(session))
            conditions.check_write(None if there is None else there.tag)

        body = await read_body(request, _members)
        if body.get("sessionId", session_id) != session_id:
            raise InvalidInput(f"the body is the state of another session, {body['sessionId']!r:.80}")
        patch = shaped(body, StatePatch)
        try:
            state = await store.state.merge(
                session_id,
                strict_json.PlainObject({name: value for name, value in body.items() if name not in OURS}),
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
        if len(state.document) > LARGE:  # to look through it and to hash it takes too long for this thread
            return answered(await LARGE_JSON.make(lambda: shown(session_id, state, children), store.tenant))
        return answered(shown(session_id, state, children))


def shown(session_id: str, state: StateDocument, children: Children) -> Answer:
    """The state as an answer, with its tag; the document is shown as it is stored, without being parsed."""
    if any(name in state.document for name in SHOWN):
        view = state_view(session_id, state.version, strict_json.members(state.document), children)
        raw = {name: value if isinstance(value, msgspec.Raw) else document(value) for name, value in view.items()}
        body = strict_json.join(raw)
    else:
        ours = strict_json.encode(state_view(session_id, state.version, {}, children))
        body = (
            b"".join((memoryview(state.document)[:-1], b",", ours[1:]))
            if len(state.document) > len(EMPTY_STATE)
            else ours
        )
    return Answer(body, tag_of(state.version, body))


def not_modified(tag: str) -> Response:
    """The answer to a reader that has it already."""
    return Response(status_code=304, headers={"ETag": tag})
