"""Checkpoints of a session: list, make, and compaction, which makes one as well."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast import core
from holdfast.core import strict_json
from holdfast.core.errors import IdempotencyConflict
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.body import or_empty, parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import IdempotencyKey, TenantStore, key_of
from holdfast.gateway.wire.children import (
    CheckpointList,
    CheckpointView,
    Compaction,
    NewCheckpoint,
    SnapshotView,
    checkpoint,
    snapshot,
)
from holdfast.store import Store

_new_checkpoint = or_empty(parse_into(NewCheckpoint))
_compaction = or_empty(parse_into(Compaction))


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
        **described({201: CheckpointView, 200: CheckpointView}, body=NewCheckpoint, body_required=False),
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
        **described({201: SnapshotView, 200: SnapshotView}, body=Compaction, body_required=False),
    )
    async def compact_session(
        store: TenantStore, session_id: str, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Response:
        body = await read_body(request, _compaction)
        made = await compacted(store, session_id, body, key_of(body.idempotency_key, idempotency_key))
        return json_answer(snapshot(made), 200 if made.replayed else 201)


async def compacted(store: Store, session_id: str, body: Compaction, key: str | None) -> core.Snapshot:
    """The compaction that is asked for; what the body leaves out is known here: the head, and the agent's summary.

    A retry that leaves it out is told the first result, whatever the log has grown to since.
    """
    from holdfast.runtime.log_summary import summary_of

    whole = body.summary is not None and body.last_seq is not None
    if not whole and key is not None:
        known = await store.checkpoints.compacted_by(session_id, key)
        if known is not None:
            return _checked(known, body, key)
    last_seq = (await store.sessions.get(session_id)).head_seq if body.last_seq is None else body.last_seq
    summary = body.summary
    if summary is None:
        summary = await summary_of(store, session_id, body.first_seq, last_seq)
    try:
        return await store.checkpoints.compact(
            session_id,
            summary,
            last_seq=last_seq,
            first_seq=body.first_seq,
            name=body.name,
            expected_seq=body.expected_seq,
            idempotency_key=key,
        )
    except IdempotencyConflict:
        if whole or key is None:
            raise
        known = await store.checkpoints.compacted_by(session_id, key)  # another retry came first
        if known is None:
            raise
        return _checked(known, body, key)


def _checked(known: core.Snapshot, body: Compaction, key: str) -> core.Snapshot:
    """The first result of a retry, if it is what the body asks for."""
    given = {"firstSeq": body.first_seq, "lastSeq": body.last_seq, "summary": body.summary}
    first = {"firstSeq": known.first_seq, "lastSeq": known.last_seq, "summary": known.document}
    if any(value is not None and strict_json.plain(value) != first[name] for name, value in given.items()):
        raise IdempotencyConflict(f"{key!r} was used before, for another compaction", key=key, seq=known.seq)
    return known
