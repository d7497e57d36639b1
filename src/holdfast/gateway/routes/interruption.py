"""Interruption of a session's turn on purpose: what a restart would do to it, without one.

The turn is broken off and given back. The recovery finds it, marks its session interrupted, and begins the turn again:
the same path as after a death of the gateway, for one session that somebody names.
"""

from collections.abc import Callable

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.a2a.turns.turns import Turns
from holdfast.core.errors import Conflict
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import TenantStore
from holdfast.gateway.wire.chat import InterruptedTurn


def add_routes(routes: APIRouter, turns_of: Callable[[Request], Turns]) -> None:
    """Serve `/api/sessions/{session_id}/interrupt`."""

    @routes.post(
        "/api/sessions/{session_id}/interrupt",
        summary="Break off the turn that runs in a session as a restart would; it is begun again",
        **described({200: InterruptedTurn}),
    )
    async def interrupt_turn(store: TenantStore, session_id: str, request: Request) -> Response:
        await store.sessions.get(session_id)
        task_id = turns_of(request).interrupt(session_id)
        if task_id is None:
            raise Conflict(f"no turn of session {session_id!r} runs in this gateway", session_id=session_id)
        return json_answer(InterruptedTurn(session_id, task_id))
