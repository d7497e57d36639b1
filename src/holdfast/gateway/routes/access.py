"""Who may do what, and who did it: tokens, and the audit log.

Tokens are made, listed and revoked by operators; a token's text is in one answer, ever. The audit log has what was done
to the tenant's sessions with an admin's power and, for operators to see, with an operator's.
"""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.clock import to_iso
from holdfast.gateway.access.auth import caller_of
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.body import parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import PageCursor, TenantStore
from holdfast.gateway.wire.access import AuditEntry, AuditPage, NewToken, TokenList, TokenMade, TokenView
from holdfast.store.operators import MAX_PAGE, OPERATOR, Token

_new_token = parse_into(NewToken)


def add_routes(routes: APIRouter) -> None:
    """Serve `/api/tokens` and `/api/audit`."""

    @routes.post("/api/tokens", summary="Make a token", **described({201: TokenMade}, body=NewToken))
    async def create_token(store: TenantStore, request: Request) -> Response:
        body = await read_body(request, _new_token)
        made, text = await store.tokens.create(body.name, body.scopes, tenant=body.tenant, lasts_ms=body.lasts_ms)
        return json_answer(TokenMade(text, view(made, store.clock.now())), 201)

    @routes.get("/api/tokens", summary="All tokens, without their texts", **described({200: TokenList}))
    async def list_tokens(store: TenantStore) -> Response:
        now = store.clock.now()
        return json_answer(TokenList([view(token, now) for token in await store.tokens.list()]))

    @routes.delete("/api/tokens/{token_id}", summary="Revoke a token at once", **described({200: TokenView}))
    async def revoke_token(store: TenantStore, token_id: str) -> Response:
        return json_answer(view(await store.tokens.revoke(token_id), store.clock.now()))

    @routes.get("/api/audit", summary="What was done by whom, newest first", **described({200: AuditPage}))
    async def get_audit(
        store: TenantStore,
        request: Request,
        cursor: PageCursor = None,
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100,
    ) -> Response:
        operators = caller_of(request).may(OPERATOR)
        found = await store.audit.list(before=cursor or None, limit=limit, operators=operators)
        entries = [
            AuditEntry(
                each.entry_id,
                to_iso(each.created_at),
                each.caller,
                each.token_id,
                each.scope,
                each.action,
                each.target,
                each.details,
                each.status,
            )
            for each in found
        ]
        return json_answer(AuditPage(entries, found[-1].entry_id if len(found) == limit else None))


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
