"""A client that goes away: what it reads is ended, what it writes is finished, and nothing outlives its request."""

import asyncio
import json
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.mcp_server.clients import SESSION
from tests.support.eventually import PATIENCE

from holdfast.gateway.mcp.mount import McpMount

HEADERS = [
    (b"host", b"localhost"),
    (b"accept", b"application/json, text/event-stream"),
    (b"content-type", b"application/json"),
]


class SlowRoutes:
    """An application whose reads last until their client goes, and whose writes last until they are let go."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.left = asyncio.Event()
        """A client has gone."""
        self.written = asyncio.Event()
        self.may_write = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.set()
        await receive()
        gone = (await receive())["type"] == "http.disconnect"
        assert gone
        self.left.set()
        if scope["method"] != "GET":
            await self.may_write.wait()
            self.written.set()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"seq":1,"eventId":"e","timestamp":"t"}'})


class LeavingClient:
    """A request of a tool, and when its client goes."""

    def __init__(self, app: SlowRoutes, name: str, **arguments: Any) -> None:
        params = {"name": name, "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        self.gone = asyncio.Event()
        self.answers: list[Message] = []
        self._messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": HEADERS, "app": app, "query_string": b""}
        self.request = asyncio.create_task(McpMount()(scope, self._receive, self._send))

    async def _receive(self) -> Message:
        if self._messages:
            return self._messages.pop()
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.answers.append(message)


@pytest.mark.parametrize("writes", [False, True])
async def test_a_client_that_goes_ends_what_it_reads_and_not_what_it_writes(writes: bool) -> None:
    routes = SlowRoutes()
    name, more = ("append_action", {"type": "a"}) if writes else ("get_state", {})
    client = LeavingClient(routes, name, sessionId=SESSION, **more)
    async with asyncio.timeout(PATIENCE):
        await routes.asked.wait()
        client.gone.set()
        await routes.left.wait()
        if writes:
            done, _ = await asyncio.wait({client.request}, timeout=0.05)
            assert not done, "the request ended before what it writes"
            routes.may_write.set()
        await client.request
    assert routes.written.is_set() is writes
    assert client.answers == []
