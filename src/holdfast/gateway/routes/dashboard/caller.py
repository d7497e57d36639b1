"""Who asks: for a page that offers what its token is good for."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.gateway.access.auth import caller_of
from holdfast.gateway.access.scopes import allowed
from holdfast.gateway.agent import AGENT
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.openapi import described
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.wire.caller import CallerView
from holdfast.store.operators import OPERATOR, SCOPES, WRITE


def add_routes(routes: APIRouter, gateway: Gateway, *, chats: bool) -> None:
    """Serve `/api/caller`; `chats` says whether an agent answers here."""

    @routes.get("/api/caller", summary="Who asks, and what it may do", **described({200: CallerView}))
    async def get_caller(request: Request) -> Response:
        caller = caller_of(request)
        scopes = allowed(caller.scopes)
        return json_answer(
            CallerView(
                caller.name,
                caller.tenant,
                [scope for scope in SCOPES if scope in scopes],
                gateway.authority.asks,
                gateway.version,
                [AGENT] if chats else [],
                chats and caller.may(WRITE),
                gateway.proofs_folder is not None and caller.may(OPERATOR),
            )
        )
