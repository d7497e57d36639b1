"""Session keys: where one routes, and a new session on it."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core import KeyEntry
from holdfast.core.clock import to_iso
from holdfast.core.errors import NotFound
from holdfast.core.ids import check_name
from holdfast.gateway.api.answers import document, json_answer
from holdfast.gateway.api.body import or_empty, parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import DEFAULT_PAGE, IdempotencyKey, PageCursor, PageLimit, TenantStore
from holdfast.gateway.routes.forks import chosen_id, made_before
from holdfast.gateway.wire.children import when
from holdfast.gateway.wire.forks import KeyView, RouteView, Successor, SuccessorView
from holdfast.store import Store

_successor = or_empty(parse_into(Successor))


def add_routes(routes: APIRouter) -> None:
    """Serve `/api/keys`; a key may have slashes in it."""

    @routes.get(
        "/api/keys/{key:path}", summary="Where a session key routes, and did before", **described({200: KeyView})
    )
    async def get_key(
        store: TenantStore, key: str, limit: PageLimit = DEFAULT_PAGE, cursor: PageCursor = None
    ) -> Response:
        found = await store.keys.routes(key, limit=limit + 1, before=cursor)
        newest = found[-limit:]
        earlier = newest[0].session_id if len(found) > limit else None
        shown = [RouteView(each.session_id, to_iso(each.started_at), when(each.ended_at)) for each in newest]
        entry = await current_entry(store, key)
        if entry is None:
            began, ended = map(to_iso, await store.keys.span(key))
            return json_answer(KeyView(key, None, shown, {}, began, ended, earlier))
        began, changed = to_iso(entry.created_at), to_iso(entry.updated_at)
        return json_answer(KeyView(key, entry.session_id, shown, document(entry.document), began, changed, earlier))

    @routes.post(
        "/api/keys/{key:path}/reset",
        summary="A new, empty session on a key",
        **described({201: SuccessorView, 200: SuccessorView}, body=Successor, body_required=False),
    )
    async def reset_key(
        store: TenantStore, key: str, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Response:
        body = await read_body(request, _successor)
        check_name(key, "a session key")
        chosen = chosen_id(body.session_id, key, "reset key", idempotency_key)
        before = await made_before(store, chosen, idempotency_key)
        if before is not None and "previousSession" in before.lineage:
            return json_answer(SuccessorView(before.session_id, before.lineage["previousSession"], [key]))
        done = await store.keys.reset(key, new_session_id=chosen)
        return json_answer(SuccessorView(done.session_id, done.previous, list(done.keys)), 201)


async def current_entry(store: Store, key: str) -> KeyEntry | None:
    """Where a key routes; None if its session was deleted, NotFound if it never had one."""
    try:
        return await store.keys.get(key)
    except NotFound:
        if not await store.keys.routes(key, limit=1):
            raise
        return None


async def current_session(store: Store, key: str) -> str | None:
    """The id of a key's session; None if it was deleted, NotFound if it never had one."""
    entry = await current_entry(store, key)
    return None if entry is None else entry.session_id
