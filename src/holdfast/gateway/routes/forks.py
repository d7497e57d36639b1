"""Sessions made from others: fork, branch and restore a checkpoint, reset.

Under an Idempotency-Key the new session's id is made from the key, so that a retry finds the first one: 200, not 201.
"""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core import Session
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import check_name
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.body import or_empty, parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import IdempotencyKey, TenantStore
from holdfast.gateway.routes.sessions import id_for_key
from holdfast.gateway.wire.forks import Branch, Fork, ForkView, Origin, Successor, SuccessorView
from holdfast.store import Store

_fork = or_empty(parse_into(Fork))
_branch = or_empty(parse_into(Branch))
_successor = or_empty(parse_into(Successor))


def add_routes(routes: APIRouter) -> None:
    """Serve what makes a session from another, under `/api/sessions`."""

    @routes.post(
        "/api/sessions/{session_id}/fork",
        summary="A new session with this one's log up to a seq or a checkpoint",
        **described({201: ForkView, 200: ForkView}, body=Fork, body_required=False),
    )
    async def fork_session(
        store: TenantStore, session_id: str, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Response:
        body = await read_body(request, _fork)
        if None not in (body.at, body.seq) and body.at != body.seq:
            raise InvalidInput(f"a fork is at one seq: at {body.at} or at {body.seq}", hint="`seq` is taken for `at`")
        at = body.seq if body.at is None else body.at
        if at is not None and body.checkpoint_id is not None:
            raise InvalidInput("a fork is at a seq or at a checkpoint, not both")
        chosen = chosen_id(body.session_id, session_id, "fork", idempotency_key)
        before = await made_before(store, chosen, idempotency_key)
        if before is not None and origin_of(before) == Origin(session_id, at or origin_of(before).seq):
            return forked(before, 200)
        if body.checkpoint_id is not None:
            return forked(await store.forks.branch(session_id, body.checkpoint_id, new_session_id=chosen, key=body.key))
        return forked(await store.forks.fork(session_id, at=at, new_session_id=chosen, key=body.key))

    @routes.post(
        "/api/sessions/{session_id}/checkpoints/{checkpoint_id}/branch",
        summary="A fork at a checkpoint; the session keeps its keys",
        **described({201: ForkView, 200: ForkView}, body=Branch, body_required=False),
    )
    async def branch_checkpoint(
        store: TenantStore,
        session_id: str,
        checkpoint_id: str,
        request: Request,
        idempotency_key: IdempotencyKey = None,
    ) -> Response:
        body = await read_body(request, _branch)
        check_name(checkpoint_id, "a checkpoint's id")
        chosen = chosen_id(body.session_id, session_id, f"branch\0{checkpoint_id}", idempotency_key)
        before = await made_before(store, chosen, idempotency_key)
        if before is not None and origin_of(before).session_id == session_id:
            return forked(before, 200)
        return forked(await store.forks.branch(session_id, checkpoint_id, new_session_id=chosen, key=body.key))

    @routes.post(
        "/api/sessions/{session_id}/checkpoints/{checkpoint_id}/restore",
        summary="A fork at a checkpoint that takes the session's place on its keys",
        **described({201: ForkView, 200: ForkView}, body=Successor, body_required=False),
    )
    async def restore_checkpoint(
        store: TenantStore,
        session_id: str,
        checkpoint_id: str,
        request: Request,
        idempotency_key: IdempotencyKey = None,
    ) -> Response:
        body = await read_body(request, _successor)
        check_name(checkpoint_id, "a checkpoint's id")
        chosen = chosen_id(body.session_id, session_id, f"restore\0{checkpoint_id}", idempotency_key)
        before = await made_before(store, chosen, idempotency_key)
        if before is not None and origin_of(before).session_id == session_id:
            return forked(before, 200)
        return forked(await store.forks.restore(session_id, checkpoint_id, new_session_id=chosen))

    @routes.post(
        "/api/sessions/{session_id}/reset",
        summary="A new, empty session in this one's place on its keys",
        **described({201: SuccessorView, 200: SuccessorView}, body=Successor, body_required=False),
    )
    async def reset_session(
        store: TenantStore, session_id: str, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Response:
        body = await read_body(request, _successor)
        chosen = chosen_id(body.session_id, session_id, "reset", idempotency_key)
        before = await made_before(store, chosen, idempotency_key)
        if before is not None and before.lineage.get("previousSession") == session_id:
            keys = [route.key for route in await store.keys.of_session(before.session_id)]
            return json_answer(SuccessorView(before.session_id, session_id, keys))
        done = await store.keys.reset_session(session_id, new_session_id=chosen)
        return json_answer(SuccessorView(done.session_id, done.previous, list(done.keys)), 201)


def chosen_id(named: str | None, source: str, verb: str, idempotency_key: str | None) -> str | None:
    """The id that the caller chose, or one made from its key, or none."""
    return named or (id_for_key(f"{source}\0{verb}\0{idempotency_key}") if idempotency_key else None)


async def made_before(store: Store, chosen: str | None, idempotency_key: str | None) -> Session | None:
    """The session that the same request made before, if there is a key to tell that it is the same."""
    if chosen is None or not idempotency_key:
        return None
    try:
        return await store.sessions.get(chosen)
    except NotFound:
        return None


def origin_of(session: Session) -> Origin:
    """Where a session was forked; nowhere, if it was not."""
    found = session.lineage.get("forkedFrom", {})
    return Origin(found.get("sessionId", ""), found.get("seq", 0))


def forked(session: Session, status: int = 201) -> Response:
    """The answer that names a fork."""
    return json_answer(ForkView(session.session_id, origin_of(session), session.head_seq), status)
