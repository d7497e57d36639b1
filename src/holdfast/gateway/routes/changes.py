"""What becomes of a session: its metadata, tags and holds, its end, its deletion."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.clock import to_iso
from holdfast.gateway.api.answers import document, json_answer
from holdfast.gateway.api.body import or_empty, parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import IdempotencyKey, TenantStore, key_of, reason_of
from holdfast.gateway.routes.view import final_view
from holdfast.gateway.wire.forks import DeletionView, Hold, HoldView, SessionEnd, SessionEndView, TagChange, Tags
from holdfast.gateway.wire.sessions import SessionRow, session_row
from holdfast.gateway.wire.types import Document

_patch = parse_into(dict[str, Any])
_ending = or_empty(parse_into(SessionEnd))
_tagging = parse_into(TagChange)
_hold = parse_into(Hold)


def add_routes(routes: APIRouter) -> None:
    """Serve the changes of a session under `/api/sessions`."""

    @routes.patch(
        "/api/sessions/{session_id}/metadata",
        summary="Merge a patch into the session's metadata",
        **described({200: SessionRow}, body=Document),
    )
    async def patch_metadata(
        store: TenantStore, session_id: str, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Response:
        patch = await read_body(request, _patch)
        session = await store.sessions.patch_metadata(session_id, patch, idempotency_key=key_of(idempotency_key))
        return json_answer(session_row(session, document(session.metadata)))

    @routes.post(
        "/api/sessions/{session_id}/finalize",
        summary="End a session with its outcome",
        **described({200: SessionEndView}, body=SessionEnd, body_required=False),
    )
    async def finalize_session(
        store: TenantStore, session_id: str, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Response:
        body = await read_body(request, _ending)
        session = await store.sessions.finalize(
            session_id,
            body.status,
            outcome=body.outcome,
            response=body.response,
            idempotency_key=key_of(body.idempotency_key, idempotency_key),
        )
        return json_answer(SessionEndView(session_id, session.status, document(final_view(session))))

    @routes.post(
        "/api/sessions/{session_id}/tags", summary="Add and remove tags", **described({200: Tags}, body=TagChange)
    )
    async def tag_session(
        store: TenantStore, session_id: str, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Response:
        body = await read_body(request, _tagging)
        session = await store.sessions.tag(
            session_id,
            add=body.add,
            remove=body.remove,
            idempotency_key=key_of(body.idempotency_key, idempotency_key),
        )
        return json_answer(Tags(session_id, list(session.tags)))

    @routes.post(
        "/api/sessions/{session_id}/hold",
        summary="Lay a legal hold on a session, or release it",
        **described({200: HoldView}, body=Hold),
    )
    async def hold_session(store: TenantStore, session_id: str, request: Request) -> Response:
        body = await read_body(request, _hold)
        session = await store.sessions.hold(session_id, body.held, reason=reason_of(body.reason))
        return json_answer(HoldView(session_id, session.held))

    @routes.delete(
        "/api/sessions/{session_id}",
        summary="Delete a session: its log is archived, its id is never used again",
        **described({200: DeletionView}),
    )
    async def delete_session(
        store: TenantStore, session_id: str, reason: Annotated[str, Query(description="why, for the archive")] = ""
    ) -> Response:
        gone = await store.deletion.delete(session_id, reason=reason_of(reason))
        return json_answer(DeletionView(session_id, gone.events, gone.head_hash.hex(), to_iso(gone.deleted_at)))
