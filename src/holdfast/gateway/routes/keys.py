"""Session keys: where one routes, and a new session on it."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.clock import to_iso
from holdfast.core.ids import check_name
from holdfast.gateway.api.answers import document, json_answer
from holdfast.gateway.api.body import or_empty, parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import IdempotencyKey, TenantStore
from holdfast.gateway.routes.forks import chosen_id, made_before
from holdfast.gateway.wire.children import when
from holdfast.gateway.wire.moves import KeyView, RouteView, Succeeded, Successor

_successor = or_empty(parse_into(Successor))


def add_routes(routes: APIRouter) -> None:
    """Serve `/api/keys`; a key may have slashes in it."""

    @routes.get(
        "/api/keys/{key:path}", summary="Where a session key routes, and did before", **described({200: KeyView})
    )
    async def get_key(store: TenantStore, key: str) -> Response:
        entry = await store.keys.get(key)
        routes = [
            RouteView(route.session_id, to_iso(route.started_at), when(route.ended_at))
            for route in await store.keys.routes(key)
        ]
        times = (to_iso(entry.created_at), to_iso(entry.updated_at))
        return json_answer(KeyView(key, entry.session_id, routes, document(entry.document), *times))

    @routes.post(
        "/api/keys/{key:path}/reset",
        summary="A new, empty session on a key",
        **described({201: Succeeded, 200: Succeeded}, body=Successor, body_required=False),
    )
    async def reset_key(
        store: TenantStore, key: str, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Response:
        body = await read_body(request, _successor)
        check_name(key, "a session key")
        chosen = chosen_id(body.session_id, key, "reset key", idempotency_key)
        before = await made_before(store, chosen, idempotency_key)
        if before is not None and "previousSession" in before.lineage:
            return json_answer(Succeeded(before.session_id, before.lineage["previousSession"], [key]))
        done = await store.keys.reset(key, new_session_id=chosen)
        return json_answer(Succeeded(done.session_id, done.previous, list(done.keys)), 201)
