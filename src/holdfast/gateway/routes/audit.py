"""The audit log over the API: what was done to the tenant's sessions with an admin's power, and, for operators to
see, with an operator's."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.clock import to_iso
from holdfast.gateway.access.auth import caller_of
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import PageCursor, TenantStore
from holdfast.gateway.wire.access import AuditEntry, AuditPage
from holdfast.store.operators import MAX_PAGE, OPERATOR


def add_routes(routes: APIRouter) -> None:
    """Serve `/api/audit`."""

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
