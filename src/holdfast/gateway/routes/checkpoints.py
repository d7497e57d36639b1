"""Checkpoints of a session: list, make, and compaction, which makes one as well."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.body import or_empty, parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import IdempotencyKey, TenantStore, key_of
from holdfast.gateway.wire.children import (
    Checkpoint,
    CheckpointList,
    Compaction,
    NewCheckpoint,
    Snapshot,
    checkpoint,
    snapshot,
)

_new_checkpoint = or_empty(parse_into(NewCheckpoint))
_compaction = parse_into(Compaction)


def add_routes(routes: APIRouter) -> None:
    """Serve the checkpoints under `/api/sessions`."""

    @routes.get(
        "/api/sessions/{session_id}/checkpoints",
        summary="The session's checkpoints, oldest first",
        **described({200: CheckpointList}),
    )
    async def get_checkpoints(store: TenantStore, session_id: str) -> Response:
        found = await store.checkpoints.list(session_id)
        return json_answer(CheckpointList([checkpoint(each) for each in found]))

    @routes.post(
        "/api/sessions/{session_id}/checkpoints",
        summary="Make a checkpoint",
        **described({201: Checkpoint, 200: Checkpoint}, body=NewCheckpoint, body_required=False),
    )
    async def create_checkpoint(
        store: TenantStore, session_id: str, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Response:
        body = await read_body(request, _new_checkpoint)
        made = await store.checkpoints.create(
            session_id,
            body.name,
            checkpoint_id=body.checkpoint_id,
            seq=body.seq,
            idempotency_key=key_of(body.idempotency_key, idempotency_key),
        )
        return json_answer(checkpoint(made), 200 if made.replayed else 201)

    @routes.post(
        "/api/sessions/{session_id}/compact",
        summary="Let a summary stand for older events, which stay readable",
        **described({201: Snapshot, 200: Snapshot}, body=Compaction),
    )
    async def compact_session(
        store: TenantStore, session_id: str, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Response:
        body = await read_body(request, _compaction)
        made = await store.checkpoints.compact(
            session_id,
            body.summary,
            last_seq=body.last_seq,
            first_seq=body.first_seq,
            name=body.name,
            expected_seq=body.expected_seq,
            idempotency_key=key_of(body.idempotency_key, idempotency_key),
        )
        return json_answer(snapshot(made), 200 if made.replayed else 201)
