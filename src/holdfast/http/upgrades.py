"""A WebSocket refused before it is one: with the problem, where the server can send it."""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

VIOLATION = 1008


async def refuse_upgrade(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer the upgrade with this, or close it."""
    if "websocket.http.response" in scope.get("extensions", {}):
        await answer(scope, receive, send)
    else:
        await send({"type": "websocket.close", "code": VIOLATION})
