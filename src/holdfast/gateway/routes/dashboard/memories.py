"""Memories: facts that outlive sessions, looked at, put and forgotten."""

from typing import Annotated

from fastapi import APIRouter, Query
from msgspec import Raw
from starlette.responses import Response

from holdfast.core.clock import to_iso
from holdfast.core.errors import InvalidInput
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.body import parse_into
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import DEFAULT_PAGE, PageCursor, PageLimit, TenantStore, TenantWrite, key_of
from holdfast.gateway.wire.children import when
from holdfast.gateway.wire.memories import (
    ForgottenMemory,
    MemoryHistory,
    MemoryList,
    MemoryToForget,
    MemoryVersionView,
    MemoryView,
    NamespaceList,
    NamespaceView,
    NewMemory,
)
from holdfast.gateway.wire.types import MAX_SEQ
from holdfast.store import Memory
from holdfast.store.memory import MAX_HITS, MemoryVersion

NULL = Raw(b"null")

_new_memory = parse_into(NewMemory)
_forget = parse_into(MemoryToForget)


def add_routes(routes: APIRouter) -> None:
    """Serve `/api/memories`."""

    @routes.get(
        "/api/memories/namespaces", summary="The namespaces that have memories", **described({200: NamespaceList})
    )
    async def get_namespaces(
        store: TenantStore, cursor: PageCursor = None, limit: PageLimit = DEFAULT_PAGE
    ) -> Response:
        page = await store.memories.namespace_page(cursor=cursor or None, limit=limit)
        return json_answer(
            NamespaceList([NamespaceView(each.namespace, each.memories) for each in page.namespaces], page.cursor)
        )

    @routes.get(
        "/api/memories/history", summary="The versions of one memory, newest first", **described({200: MemoryHistory})
    )
    async def get_memory_history(
        store: TenantStore,
        namespace: Annotated[str, Query(description="where it is")],
        key: Annotated[str, Query(description="its key")],
        before: Annotated[int | None, Query(ge=0, le=MAX_SEQ, description="only versions before this one")] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> Response:
        page = await store.memories.versions(namespace, key, before=before, limit=limit)
        return json_answer(MemoryHistory([_version(each) for each in page.versions], page.cursor))

    @routes.get("/api/memories", summary="A namespace's memories, or those found", **described({200: MemoryList}))
    async def get_memories(
        store: TenantStore,
        namespace: Annotated[str | None, Query(description="only in this namespace; needed without `q`")] = None,
        prefix: Annotated[str | None, Query(description="only keys that begin so; not with `q`")] = None,
        q: Annotated[str | None, Query(description='`word`, `"a phrase"`, `pre*`, `-without`')] = None,
        cursor: PageCursor = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> Response:
        if q:
            if prefix:
                raise InvalidInput("memories are found by words or by the beginning of their keys, not by both")
            hits = await store.memories.search(q, namespace=namespace or None, limit=min(limit, MAX_HITS))
            return json_answer(MemoryList([_view(hit.memory) for hit in hits], None))
        if not namespace:
            raise InvalidInput("a namespace or words to search for are needed", hint="GET /api/memories/namespaces")
        page = await store.memories.list(namespace, prefix=prefix or None, cursor=cursor or None, limit=limit)
        return json_answer(MemoryList([_view(memory) for memory in page.memories], page.cursor))

    @routes.put("/api/memories", summary="Put a memory", **described({200: MemoryView}, body=NewMemory))
    async def put_memory(write: TenantWrite) -> Response:
        body = await write.read(_new_memory)
        memory = await write.store.memories.put(
            body.namespace,
            body.key,
            body.value,
            expected_version=body.expected_version,
            idempotency_key=key_of(body.idempotency_key, write.key),
            source=body.source,
        )
        return json_answer(_view(memory))

    @routes.post(
        "/api/memories/forget",
        summary="Forget a memory; its versions stay",
        **described({200: ForgottenMemory}, body=MemoryToForget),
    )
    async def forget_memory(write: TenantWrite) -> Response:
        body = await write.read(_forget)
        forgotten = await write.store.memories.forget(body.namespace, body.key)
        return json_answer(ForgottenMemory(body.namespace, body.key, forgotten.version))


def _view(memory: Memory) -> MemoryView:
    value = Raw(memory.payload)
    return MemoryView(memory.namespace, memory.key, value, memory.version, memory.source, to_iso(memory.created_at))


def _version(found: MemoryVersion) -> MemoryVersionView:
    return MemoryVersionView(
        found.version,
        NULL if found.payload is None else Raw(found.payload),
        found.digest,
        found.source,
        to_iso(found.created_at),
        when(found.erased_at),
    )
