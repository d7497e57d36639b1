"""Answers over HTTP: lines of JSON, and problems, the one shape of every failure outside of JSON-RPC.

Also to a WebSocket that is refused before it is one, where the server can send an answer then.
"""

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from holdfast.core import HoldfastError, strict_json
from holdfast.core.problem import MEDIA_TYPE, problem
from holdfast.core.retry import retry_after

VIOLATION = 1008


class JsonLine(JSONResponse):
    """A JSON value with the end of its line: a shell's prompt comes after it, not beside it."""

    def render(self, content: Any) -> bytes:
        return super().render(content) + b"\n"


def problem_answer(error: HoldfastError, headers: Mapping[str, str] | None = None) -> Response:
    """The error as a problem; with Retry-After if trying again may help."""
    sent = dict(headers or {})
    seconds = retry_after(error)
    if seconds is not None:
        sent["Retry-After"] = str(seconds)
    return Response(strict_json.encode(problem(error)) + b"\n", error.status, sent, MEDIA_TYPE)


async def refuse_upgrade(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer the upgrade with this, or close it."""
    if "websocket.http.response" in scope.get("extensions", {}):
        await answer(scope, receive, send)
    else:
        await send({"type": "websocket.close", "code": VIOLATION})
