"""MCP clients for tests: the SDK's own, of each revision, over a gateway in this process; and calls of every tool."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from fastapi import FastAPI
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from holdfast.gateway.mcp.results import PROBLEM

REVISIONS = {"2026-07-28": "2026-07-28", "2025-11-25": "legacy"}
"""The revisions that are tested, and how the SDK's client is told to speak them."""
HOST = "http://localhost"

SESSION = "s1"
RESET, RESTORED = "reset", "restored"
KEYS = {RESET: "agent:main:reset", RESTORED: "agent:main:restored"}
"""Sessions that a session key routes to."""
CALLS: dict[str, dict[str, Any]] = {
    "list_sessions": {"words": "apples"},
    "show_session": {"sessionId": SESSION},
    "resume_session": {"sessionId": SESSION},
    "create_session": {"userId": "ada", "initial": {"input": "buy apples"}, "tags": ["shop"], "metadata": {"n": 1}},
    "finalize_session": {"sessionId": SESSION, "status": "completed", "outcome": {"ok": True}},
    "fork_session": {"sessionId": SESSION, "at": 2},
    "reset_session": {"sessionId": RESET},
    "tag_session": {"sessionId": SESSION, "add": ["new"], "remove": ["shop"]},
    "append_action": {"sessionId": SESSION, "type": "note", "details": {"text": "green apples"}},
    "append_response": {"sessionId": SESSION, "details": {"text": "bought"}},
    "read_events": {"sessionId": SESSION, "limit": 2},
    "read_event": {"sessionId": SESSION, "seq": 2},
    "search_events": {"query": "apples"},
    "get_state": {"sessionId": SESSION},
    "patch_state": {"sessionId": SESSION, "patch": {"phase": "shop", "old": None}},
    "add_goal": {"sessionId": SESSION, "description": "six of them"},
    "update_goal": {"sessionId": SESSION, "goalId": "g1", "status": "in_progress"},
    "list_checkpoints": {"sessionId": SESSION},
    "create_checkpoint": {"sessionId": SESSION, "name": "before the shop"},
    "compact_session": {"sessionId": SESSION, "lastSeq": 2, "summary": {"text": "apples were wanted"}},
    "branch_checkpoint": {"sessionId": SESSION, "checkpointId": "c1"},
    "restore_checkpoint": {"sessionId": RESTORED, "checkpointId": "c2"},
    "put_memory": {"namespace": "ada", "key": "likes", "value": {"fruit": "apples"}},
    "get_memory": {"namespace": "ada", "key": "likes"},
    "search_memories": {"query": "apples"},
    "list_memories": {"namespace": "ada"},
    "list_memory_namespaces": {},
    "forget_memory": {"namespace": "ada", "key": "likes"},
}
"""A call of every tool that succeeds in a store that was `furnished`."""
FURNITURE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("create_session", {"sessionId": SESSION, "userId": "ada", "tags": ["shop"]}),
    ("append_action", {"sessionId": SESSION, "type": "note", "details": {"text": "buy apples"}, "eventId": "e1"}),
    ("patch_state", {"sessionId": SESSION, "patch": {"phase": "plan", "old": 1}}),
    ("add_goal", {"sessionId": SESSION, "goalId": "g1", "description": "apples are there"}),
    ("create_checkpoint", {"sessionId": SESSION, "checkpointId": "c1", "seq": 2}),
    ("put_memory", {"namespace": "ada", "key": "likes", "value": "pears and apples"}),
    *(
        ("fork_session", {"sessionId": SESSION, "newSessionId": session_id, "key": key})
        for session_id, key in KEYS.items()
    ),
    ("create_checkpoint", {"sessionId": RESTORED, "checkpointId": "c2", "seq": 2}),
)
"""What is in a furnished store."""


@asynccontextmanager
async def web(app: FastAPI, token: str | None = None, **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client of the application."""
    bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(
        transport=transport, base_url=HOST, headers={**bearer, **headers}, trust_env=False
    ) as made:
        yield made


@asynccontextmanager
async def mcp_client(app: FastAPI, revision: str = "2026-07-28", token: str | None = None) -> AsyncIterator[Client]:
    """The SDK's client of the application's /mcp."""
    async with (
        web(app, token) as http,
        Client(streamable_http_client(f"{HOST}/mcp", http_client=http), mode=REVISIONS[revision]) as client,
    ):
        yield client


async def done(client: Client, name: str, /, **arguments: Any) -> Any:
    """What a tool gives back, which it must; the SDK compares it with the tool's schema."""
    result = await client.call_tool(name, arguments)
    assert isinstance(result, CallToolResult)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    """The problem that a tool's refusal carries; it must be one, and say its code and hint to a model as well."""
    result = await client.call_tool(name, arguments)
    assert isinstance(result, CallToolResult)
    assert result.is_error, result.content
    assert result.meta is not None
    found: dict[str, Any] = result.meta[PROBLEM]
    text = result.content[0].text  # type: ignore[union-attr]
    assert text.startswith(f"{found['code']}: ")
    assert found.get("hint") is None or f"hint: {found['hint']}" in text
    return found


async def furnish(client: Client) -> None:
    """Make what the calls need."""
    for name, arguments in FURNITURE:
        await done(client, name, **arguments)
