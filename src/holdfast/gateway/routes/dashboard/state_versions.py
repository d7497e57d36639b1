"""The versions of a session's state: which there were, and the document as each left it."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from holdfast.core.clock import to_iso
from holdfast.gateway.api.answers import document, json_answer
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import DEFAULT_PAGE, PageLimit, TenantStore
from holdfast.gateway.wire.looks import StateVersionList, StateVersionView, VersionedState
from holdfast.gateway.wire.types import MAX_SEQ
from holdfast.store import StateVersion


def add_routes(routes: APIRouter) -> None:
    """Serve `/api/state/{session_id}/versions`."""

    @routes.get(
        "/api/state/{session_id}/versions",
        summary="The versions of a session's state, newest first",
        **described({200: StateVersionList}),
    )
    async def get_state_versions(
        store: TenantStore,
        session_id: str,
        before: Annotated[int | None, Query(ge=0, le=MAX_SEQ, description="only versions before this one")] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> Response:
        page = await store.state_versions.list(session_id, before=before, limit=limit)
        return json_answer(StateVersionList([_view(each) for each in page.versions], page.cursor))

    @routes.get(
        "/api/state/{session_id}/versions/{version}",
        summary="The state as one patch left it",
        **described({200: VersionedState}),
    )
    async def get_state_version(
        store: TenantStore, session_id: str, version: Annotated[int, Path(ge=0, le=MAX_SEQ - 1)]
    ) -> Response:
        found, state = await store.state_versions.get(session_id, version)
        shown = _view(found)
        return json_answer(VersionedState(shown.version, shown.seq, shown.timestamp, document(state.document)))


def _view(found: StateVersion) -> StateVersionView:
    return StateVersionView(found.version, found.seq, to_iso(found.created_at))
