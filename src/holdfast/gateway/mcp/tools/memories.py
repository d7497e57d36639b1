"""Tools for memories: facts that outlive sessions."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from holdfast.core.errors import NotFound
from holdfast.gateway.mcp.arguments import DEFAULT_ENTRIES, Cursor, Limit, RetryKey
from holdfast.gateway.mcp.service import RouteRequest, only_given
from holdfast.gateway.mcp.tool import READS, REPLACES_ONCE, McpTool
from holdfast.gateway.wire.memories import ForgottenMemory, MemoryHistory, MemoryList, MemoryView, NamespaceList
from holdfast.gateway.wire.types import MAX_SEQ, Body, Name

_history = msgspec.json.Decoder(MemoryHistory).decode
_encode = msgspec.json.Encoder().encode

Namespace = Annotated[Name, Meta(description="where it is kept")]
MemoryKey = Annotated[Name, Meta(description="its name there")]


class PutMemory(Body, kw_only=True):
    """A memory to put."""

    namespace: Namespace
    key: MemoryKey
    value: Annotated[Any, Meta(description="the fact, any JSON value")]
    source: Annotated[Name | None, Meta(description="where it is from, such as a session's id")] = None
    expected_version: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_SEQ)] | None,
        Meta(description="refuse it unless the memory has this version; 0 if it must be new"),
    ] = None
    idempotency_key: RetryKey = None


class OfMemory(Body, kw_only=True):
    """Which memory."""

    namespace: Namespace
    key: MemoryKey


class SearchMemories(Body, kw_only=True):
    """What to find."""

    query: Annotated[str, Meta(min_length=1, description='`word`, `"a phrase"`, `pre*`, `-without`')]
    namespace: Annotated[Name | None, Meta(description="only in this namespace")] = None
    limit: Limit = DEFAULT_ENTRIES


class ListMemories(Body, kw_only=True):
    """Which memories."""

    namespace: Namespace
    prefix: Annotated[Name | None, Meta(description="only keys that begin so")] = None
    limit: Limit = DEFAULT_ENTRIES
    cursor: Cursor = None


class ListNamespaces(Body, kw_only=True):
    """How many namespaces."""

    limit: Limit = DEFAULT_ENTRIES
    cursor: Cursor = None


def _put(given: PutMemory) -> RouteRequest:
    known = {
        "namespace": given.namespace,
        "key": given.key,
        "source": given.source,
        "expectedVersion": given.expected_version,
    }
    body = only_given(known) | {"value": given.value}
    return RouteRequest("PUT", "/api/memories", body=body, key=given.idempotency_key)


def _newest(given: OfMemory) -> RouteRequest:
    query = {"namespace": given.namespace, "key": given.key, "limit": 1}
    return RouteRequest("GET", "/api/memories/history", query)


def _now(given: OfMemory, raw: bytes) -> bytes:
    """The newest version of a memory as it is now, which it is not if that version forgets it."""
    newest = next(iter(_history(raw).versions), None)
    if newest is None or newest.digest is None:
        raise NotFound(f"there is no memory {given.key!r:.80} in {given.namespace!r:.80}")
    found = MemoryView(given.namespace, given.key, newest.value, newest.version, newest.source, newest.created_at)
    return _encode(found)


def _search(given: SearchMemories) -> RouteRequest:
    query = {"q": given.query, "namespace": given.namespace, "limit": given.limit}
    return RouteRequest("GET", "/api/memories", query)


def _list(given: ListMemories) -> RouteRequest:
    query = {"namespace": given.namespace, "prefix": given.prefix, "limit": given.limit, "cursor": given.cursor}
    return RouteRequest("GET", "/api/memories", query)


def _namespaces(given: ListNamespaces) -> RouteRequest:
    return RouteRequest("GET", "/api/memories/namespaces", {"limit": given.limit, "cursor": given.cursor})


def _forget(given: OfMemory) -> RouteRequest:
    return RouteRequest("POST", "/api/memories/forget", body={"namespace": given.namespace, "key": given.key})


TOOLS = (
    McpTool(
        "put_memory",
        "Put a memory",
        "Keep a fact under a namespace and a key, for all sessions to come. Another value there is replaced; its "
        "versions stay.",
        REPLACES_ONCE,
        PutMemory,
        MemoryView,
        _put,
    ),
    McpTool(
        "get_memory", "Get a memory", "One memory by its namespace and key.", READS, OfMemory, MemoryView, _newest, _now
    ),
    McpTool(
        "search_memories",
        "Search memories",
        "The memories in which words are found, best first.",
        READS,
        SearchMemories,
        MemoryList,
        _search,
    ),
    McpTool(
        "list_memories",
        "List memories",
        "The memories of a namespace by their keys, a page at a time.",
        READS,
        ListMemories,
        MemoryList,
        _list,
    ),
    McpTool(
        "list_memory_namespaces",
        "List namespaces of memories",
        "The namespaces that have memories, and how many.",
        READS,
        ListNamespaces,
        NamespaceList,
        _namespaces,
    ),
    McpTool(
        "forget_memory",
        "Forget a memory",
        "Take a memory away: it is not found any more. Its versions stay in its history.",
        REPLACES_ONCE,
        OfMemory,
        ForgottenMemory,
        _forget,
    ),
)
