"""What was deleted: a list of it, the way back, and the order to remove it for good."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core import HoldfastError
from holdfast.core.clock import to_iso
from holdfast.core.errors import InvalidInput
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.body import parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import PageCursor, TenantStore
from holdfast.gateway.wire.upkeep import ArchivedView, ArchiveList, PurgeOrder, PurgeView, UndeletionView
from holdfast.store import DeletedSession, Store, UndeletedSession

PAGE = 500

_purge = parse_into(PurgeOrder)


def add_routes(routes: APIRouter) -> None:
    """Serve `/api/archives`."""

    @routes.get("/api/archives", summary="Deleted sessions, oldest first", **described({200: ArchiveList}))
    async def list_archives(
        store: TenantStore,
        cursor: PageCursor = None,
        limit: Annotated[int, Query(ge=1, le=PAGE)] = 100,
    ) -> Response:
        last = await store.archives.get(cursor) if cursor else None
        page = await store.archives.list(after=last, limit=limit)
        more = page[-1].session_id if len(page) == limit else None
        return json_answer(ArchiveList([archived(each) for each in page], more))

    @routes.post(
        "/api/archives/{session_id}/restore",
        summary="Undelete a session: it is again what it was, with the same id, events and hashes",
        **described({200: UndeletionView}),
    )
    async def restore_archive(store: TenantStore, session_id: str) -> Response:
        return json_answer(undeleted(await store.undeletion.undelete(session_id)))

    @routes.post(
        "/api/archives/purge",
        summary="Remove deleted sessions for good: these, or all that were deleted so long ago",
        **described({200: PurgeView}, body=PurgeOrder),
    )
    async def purge_archives(store: TenantStore, request: Request) -> Response:
        order = await read_body(request, _purge)
        if (order.sessions is None) == (order.older_than_ms is None):
            raise InvalidInput("say which sessions, or how long ago they were deleted")
        chosen = await which(store, order)
        if not order.dry_run:
            chosen = await purge_all(store, chosen)
        return json_answer(PurgeView([archived(each) for each in chosen]))


async def purge_all(store: Store, chosen: list[DeletedSession]) -> list[DeletedSession]:
    """Purge these archives; an error half-way names in its details those that were `purged` before it."""
    done: list[DeletedSession] = []
    for each in chosen:
        try:
            done.append(await store.archives.purge(each.session_id))
        except HoldfastError as error:
            if done:
                were = "was" if len(done) == 1 else "were"
                purged = [gone.session_id for gone in done]
                error.after(f"{len(done)} of {len(chosen)} archives {were} removed", purged=purged)
            raise
    return done


async def which(store: Store, order: PurgeOrder) -> list[DeletedSession]:
    """The archives that an order is about, without those that were purged before."""
    if order.sessions is not None:
        found = [await store.archives.get(session_id) for session_id in order.sessions]
    else:
        found = []
        before = store.clock.now() - (order.older_than_ms or 0)
        page = await store.archives.list(deleted_before=before + 1, limit=PAGE)
        while page:
            found += page
            page = await store.archives.list(deleted_before=before + 1, after=page[-1], limit=PAGE)
    return [each for each in found if each.purged_at is None]


def undeleted(found: UndeletedSession) -> UndeletionView:
    """A session that is back as clients see it."""
    return UndeletionView(
        found.session_id,
        found.events,
        found.head_hash.hex(),
        list(found.keys),
        list(found.keys_taken),
        list(found.not_restored),
    )


def archived(found: DeletedSession) -> ArchivedView:
    """A deleted session as clients see it."""
    return ArchivedView(
        found.session_id,
        to_iso(found.deleted_at),
        None if found.purged_at is None else to_iso(found.purged_at),
        found.reason,
        found.events,
        found.head_hash.hex(),
        found.size_bytes,
    )
