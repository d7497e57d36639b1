"""A small A2A server over a runtime: text turns, get-task and the agent card, in wire version 0.3 and 1.0."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from holdfast.core import IdSource
from holdfast.prove.broken.runtime import Message, Runtime, Task

METHODS = {"message/send": "0.3", "tasks/get": "0.3", "SendMessage": "1.0", "GetTask": "1.0"}


class Refused(Exception):
    """A JSON-RPC error to answer with."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def build(runtime: Runtime, url: str, new_id: IdSource) -> Starlette:
    """The application for one runtime."""

    async def card(request: Request) -> Response:
        interfaces = [
            {"url": f"{url}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": version}
            for version in ("1.0", "0.3")
        ]
        return JSONResponse(
            {
                "name": "broken on purpose",
                "description": "A runtime with at most one defect.",
                "version": "1",
                "protocolVersion": "0.3.0",
                "url": f"{url}/a2a",
                "preferredTransport": "JSONRPC",
                "supportedInterfaces": interfaces,
                "capabilities": {},
                "defaultInputModes": ["text/plain"],
                "defaultOutputModes": ["text/plain"],
                "skills": [],
            }
        )

    async def ready(request: Request) -> Response:
        return JSONResponse({"status": "ready"})

    async def rpc(request: Request) -> Response:
        call: Any = None
        try:
            call = await request.json()
            result = await _dispatch(runtime, call, request.headers.get("A2A-Version", ""), new_id)
        except Refused as refusal:
            error = {"code": refusal.code, "message": str(refusal)}
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            error = {"code": -32602, "message": f"cannot be understood: {wrong!r}"}
        else:
            return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "result": result})
        request_id = call.get("id") if isinstance(call, dict) else None
        return JSONResponse({"jsonrpc": "2.0", "id": request_id, "error": error})

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await runtime.close()

    return Starlette(
        routes=[
            Route("/.well-known/agent-card.json", card),
            Route("/agent-card", card),
            Route("/readyz", ready),
            Route("/a2a", rpc, methods=["POST"]),
        ],
        lifespan=lifespan,
    )


async def _dispatch(runtime: Runtime, call: dict[str, Any], header: str, new_id: IdSource) -> dict[str, Any]:
    method, params = call["method"], call["params"]
    version = METHODS.get(method)
    if version is None:
        raise Refused(-32601, f"there is no method {method}")
    if (header or "0.3") != version:
        raise Refused(-32009, f"{method} is not a method of version {header or '0.3'}")
    if method in {"tasks/get", "GetTask"}:
        task = runtime.tasks.get(params["id"])
        if task is None:
            raise Refused(-32001, f"there is no task {params['id']}")
        return task_0_3(task) if version == "0.3" else task_1_0(task)
    message = params["message"]
    configuration = params.get("configuration", {})
    wait = configuration.get("blocking", True) if version == "0.3" else not configuration.get("returnImmediately")
    text = "\n".join(part["text"] for part in message["parts"] if "text" in part)
    arrived = Message(message["messageId"], message.get("contextId") or new_id(), text)
    task = await runtime.send(arrived, wait=wait)
    return task_0_3(task) if version == "0.3" else {"task": task_1_0(task)}


def task_0_3(task: Task) -> dict[str, Any]:
    """A task as 0.3 writes it; the answer is an artifact."""
    parts = [{"kind": "text", "text": task.text}]
    return {
        "kind": "task",
        "id": task.task_id,
        "contextId": task.context_id,
        "status": {"state": task.state.value},
        "artifacts": [{"artifactId": f"{task.task_id}-answer", "parts": parts}] if task.text else [],
    }


def task_1_0(task: Task) -> dict[str, Any]:
    """A task as 1.0 writes it; the answer is an artifact."""
    parts = [{"text": task.text}]
    return {
        "id": task.task_id,
        "contextId": task.context_id,
        "status": {"state": "TASK_STATE_" + task.state.value.upper().replace("-", "_")},
        "artifacts": [{"artifactId": f"{task.task_id}-answer", "parts": parts}] if task.text else [],
    }
