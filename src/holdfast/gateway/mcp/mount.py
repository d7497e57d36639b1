"""`/mcp`: the MCP server inside the gateway, over streamable HTTP, stateless in every revision.

One POST is one request, and its answer is plain JSON: no session of the protocol's is kept, no stream is opened,
nothing outlives the request. The gateway's layers have judged it before it comes here, and what its tool asks for goes
through them again. The SDK is imported with the first request, on a thread, so that neither the start nor anybody else
waits for it.
"""

import asyncio
import importlib
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from holdfast.core.errors import InvalidJson
from holdfast.gateway.api.answers import JsonAnswer
from holdfast.gateway.api.body import read_body
from holdfast.gateway.mcp import PATH, with_sdk
from holdfast.gateway.mcp.in_process import InProcessService
from holdfast.gateway.mcp.message import NoMessage, error_answer, message_in
from holdfast.http.hang_ups import WaitingClient

SERVICE = "holdfast.mcp.service"


class McpMount:
    """The application at `/mcp`."""

    def __init__(self) -> None:
        self._server: Any = None
        self._importing: asyncio.Future[Any] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            raw = await read_body(Request(scope, receive), _checked)
        except (InvalidJson, NoMessage) as error:
            await JsonAnswer(error_answer(error), 400)(scope, receive, send)
            return
        server = await self._ready()
        service = scope[SERVICE] = InProcessService(scope)
        client = WaitingClient(receive)
        try:
            with client.watch():
                await _serve(server, _trimmed(scope), _again(raw, receive), _answering(client, send))
        except ClientDisconnect:
            if not client.hung_up:
                raise
        finally:
            await service.settled()

    def route(self) -> Route:
        """Where it is mounted."""
        return Route(PATH, self, methods=["POST"], name="mcp")

    async def _ready(self) -> Any:
        """The server, made once."""
        if self._server is None:
            if self._importing is None or self._importing.done():
                self._importing = asyncio.ensure_future(asyncio.to_thread(_made))
            self._server = await asyncio.shield(self._importing)
        return self._server


def _made() -> Any:
    made = with_sdk("server").mcp_server(lambda context: context.request.scope[SERVICE])
    importlib.import_module("mcp.server.streamable_http_manager")  # here, not on the loop
    return made


async def _serve(server: Any, scope: Scope, receive: Receive, send: Send) -> None:
    """Have the SDK answer one request; all that it begins ends with it."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    async with manager.run():
        await manager.handle_request(scope, receive, send)


def _checked(raw: bytes) -> bytes:
    """The body, if it is a message."""
    message_in(raw)
    return raw


def _trimmed(scope: Scope) -> Scope:
    """The request without the spaces after its headers' values, which are no part of them and which we are given."""
    return {**scope, "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]]}


def _again(raw: bytes, receive: Receive) -> Receive:
    """The body that was read, and after it what else comes."""
    is_given = False

    async def given() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": raw, "more_body": False}

    return given


def _answering(client: WaitingClient, send: Send) -> Send:
    """The way out: once an answer has begun, the client's leaving ends nothing."""

    async def said(message: Message) -> None:
        client.answering = True
        await send(message)

    return said
