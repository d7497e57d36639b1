"""Tokens over the API: made, listed, revoked. An operator's routes; a token's text is in one answer, ever."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.clock import to_iso
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.body import parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import TenantStore
from holdfast.gateway.wire.access import NewToken, TokenList, TokenMade, TokenView
from holdfast.store.operators import Token

_new_token = parse_into(NewToken)


def add_routes(routes: APIRouter) -> None:
    """Serve `/api/tokens`."""

    @routes.post("/api/tokens", summary="Make a token", **described({201: TokenMade}, body=NewToken))
    async def create_token(store: TenantStore, request: Request) -> Response:
        body = await read_body(request, _new_token)
        made, text = await store.tokens.create(body.name, body.scopes, tenant=body.tenant, lasts_ms=body.lasts_ms)
        return json_answer(TokenMade(text, view(made, store.sessions.clock.now())), 201)

    @routes.get("/api/tokens", summary="All tokens, without their texts", **described({200: TokenList}))
    async def list_tokens(store: TenantStore) -> Response:
        now = store.sessions.clock.now()
        return json_answer(TokenList([view(token, now) for token in await store.tokens.list()]))

    @routes.delete("/api/tokens/{token_id}", summary="Revoke a token at once", **described({200: TokenView}))
    async def revoke_token(store: TenantStore, token_id: str) -> Response:
        return json_answer(view(await store.tokens.revoke(token_id), store.sessions.clock.now()))


def view(token: Token, now: int) -> TokenView:
    """A token as operators see it."""
    return TokenView(
        token.token_id,
        token.name,
        token.tenant,
        sorted(token.scopes),
        to_iso(token.created_at),
        None if token.expires_at is None else to_iso(token.expires_at),
        None if token.revoked_at is None else to_iso(token.revoked_at),
        token.valid_at(now),
    )
