"""Runs of proofs: posted, listed and shown. What is shown is JSON, which the dashboard draws; posted HTML is nothing
that is served."""

import re
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.gateway.access.auth import caller_of
from holdfast.gateway.api.answers import JsonAnswer, json_answer
from holdfast.gateway.api.body import read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import PageCursor, TenantStore
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.proofs.folder import ProofFolder
from holdfast.gateway.proofs.summaries import begun, kept, kept_view, view_of
from holdfast.gateway.wire.proofs import ProofKind, ProofList, ProofPosted, ProofSummary, ProofView
from holdfast.store import PAGE_BYTES, Store, count_within
from holdfast.store.operators import MOST_PROOFS, OPERATOR, proof_id_of

DEFAULT_PAGE = 50
CURSOR = re.compile(r"([0-9]{1,15})\.([pf]-[0-9a-f]{32})", re.ASCII)
POSTED: Literal["posted"] = "posted"

Posted = tuple[ProofView, bytes]


def add_routes(routes: APIRouter, gateway: Gateway) -> None:
    """Serve `/api/proofs`."""
    folder = ProofFolder(gateway.proofs_folder)

    @routes.post(
        "/api/proofs",
        summary="Keep the summary of a run of proofs; 200 if it is kept already",
        **described({201: ProofPosted, 200: ProofPosted}, body=ProofSummary),
    )
    async def post_proof(store: TenantStore, request: Request) -> Response:
        view, raw = await read_body(request, _posted)
        proof_id, new = await store.proofs.post(view.kind, kept(view), raw)
        return json_answer(ProofPosted(proof_id), 201 if new else 200)

    @routes.get("/api/proofs", summary="Runs of proofs, the last begun first", **described({200: ProofList}))
    async def list_proofs(
        store: TenantStore,
        request: Request,
        kind: Annotated[ProofKind | None, Query(description="only runs of this prover")] = None,
        cursor: PageCursor = None,
        limit: Annotated[int, Query(ge=1, le=MOST_PROOFS)] = DEFAULT_PAGE,
    ) -> Response:
        before = _place(cursor) if cursor else None
        lying = await folder.runs() if caller_of(request).may(OPERATOR) else []
        found = [each for each in (*await posted(store, kind), *lying) if kind is None or each.kind == kind]
        rest = sorted((each for each in found if before is None or _key(each) < before), key=_key, reverse=True)
        page = rest[:limit]
        page = page[: count_within((len(kept(each)) for each in page), PAGE_BYTES)]
        more = f"{begun(page[-1])}.{page[-1].proof_id}" if len(page) < len(rest) else None
        return json_answer(ProofList(page, more))

    @routes.get("/api/proofs/{proof_id}", summary="A run, whole", **described({200: ProofSummary}))
    async def get_proof(store: TenantStore, request: Request, proof_id: str) -> Response:
        if proof_id.startswith("f-"):
            if not caller_of(request).may(OPERATOR):
                raise NotFound("there is no such run")
            return JsonAnswer(await folder.get(proof_id), 200)
        return JsonAnswer(await store.proofs.get(proof_id), 200)


async def posted(store: Store, kind: str | None) -> list[ProofView]:
    """The runs that a tenant has posted."""
    return [kept_view(each.listed) for each in await store.proofs.list(kind=kind, limit=MOST_PROOFS)]


def _posted(raw: bytes) -> Posted:
    """A body as what is listed of it, and itself."""
    return view_of(raw, proof_id_of(raw), POSTED), bytes(raw)


def _key(view: ProofView) -> tuple[int, str]:
    return begun(view), view.proof_id


def _place(cursor: str) -> tuple[int, str]:
    found = CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidInput(f"{cursor!r:.80} is not a cursor of this list", hint="use the cursor of the page before")
    return int(found[1]), found[2]
