"""A small A2A server over a runtime: turns, streams, tasks, uploads and the agent card, in version 0.3 and 1.0."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from holdfast.core import HoldfastError, strict_json
from holdfast.prove.broken import wire, workspace
from holdfast.prove.broken.messages import UserTask
from holdfast.prove.broken.refusals import BAD_PARAMS, OTHER_VERSION, UNSUPPORTED, RpcRefusal
from holdfast.prove.broken.runtime import Runtime
from holdfast.prove.broken.wire import Version


def build(runtime: Runtime, url: str) -> Starlette:
    """The application for one runtime."""

    async def show_card(request: Request) -> Response:
        return JSONResponse(card(url))

    async def ready(request: Request) -> Response:
        return JSONResponse({"status": "ready"})

    async def rpc(request: Request) -> Response:
        call: Any = None
        try:
            call = strict_json.parse(await request.body())
            answered = await _dispatch(runtime, call, request.headers.get("A2A-Version", ""))
        except RpcRefusal as refusal:
            error = {"code": refusal.code, "message": str(refusal)}
        except (HoldfastError, ValueError, LookupError, TypeError, AttributeError) as wrong:
            error = {"code": BAD_PARAMS, "message": f"cannot be understood: {wrong!r}"}
        else:
            if isinstance(answered, dict):
                return JSONResponse(_result(call, answered))
            return StreamingResponse(_events(call, answered), media_type="text/event-stream")
        request_id = call.get("id") if isinstance(call, dict) else None
        return JSONResponse({"jsonrpc": "2.0", "id": request_id, "error": error})

    async def upload(request: Request) -> Response:
        kept = []
        async with request.form() as form:
            for file in form.getlist("files"):
                if isinstance(file, str):
                    continue
                content, name = await file.read(), file.filename or "file"
                uri = workspace.upload(runtime.workspace, runtime.new_id(), name, content)
                kept.append({"uri": uri, "name": name, "mimeType": file.content_type, "size": len(content)})
        return JSONResponse({"files": kept})

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await runtime.close()

    return Starlette(
        routes=[
            Route("/.well-known/agent-card.json", show_card),
            Route("/agent-card", show_card),
            Route("/readyz", ready),
            Route("/a2a", rpc, methods=["POST"]),
            Route("/a2a/uploads", upload, methods=["POST"]),
        ],
        lifespan=lifespan,
    )


def card(url: str) -> dict[str, Any]:
    """The agent card, for readers of either version."""
    interfaces = [
        {"url": f"{url}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": version} for version in ("1.0", "0.3")
    ]
    return {
        "name": "broken on purpose",
        "description": "A runtime with at most one defect.",
        "version": "1",
        "protocolVersion": "0.3.0",
        "url": f"{url}/a2a",
        "preferredTransport": "JSONRPC",
        "supportedInterfaces": interfaces,
        "capabilities": {"streaming": True},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "chat", "name": "chat", "description": "Talks and remembers.", "tags": ["chat", "approval"]}],
    }


Items = AsyncGenerator[dict[str, Any]]


async def _dispatch(runtime: Runtime, call: dict[str, Any], header: str) -> dict[str, Any] | Items:
    """The result of a call, or the results of one that streams."""
    version, operation = wire.method(call["method"], header)
    if not runtime.speaks(version):
        raise RpcRefusal(OTHER_VERSION, f"version {version} is not spoken here")
    params = call["params"]
    if operation == "get":
        return wire.task(version, runtime.look(params["id"]))
    if operation == "cancel":
        return wire.task(version, await runtime.cancel(params["id"]))
    if operation == "subscribe":
        task = runtime.look(params["id"])
        if task.state.terminal:
            raise RpcRefusal(UNSUPPORTED, f"the task {task.task_id} has ended")
        return _items(runtime, version, task, runtime.subscribe(task.task_id))
    task = runtime.accept(wire.message(params, runtime.workspace))
    if operation == "stream":
        return _items(runtime, version, task, runtime.stream(task.task_id))
    return wire.sent(version, await runtime.wait(task.task_id) if wire.waits(version, params) else task)


async def _items(runtime: Runtime, version: Version, task: UserTask, news: AsyncGenerator[UserTask | str]) -> Items:
    """What a follower of a task is told: the task as it is, its answer as it comes, its end."""
    begun = told = ended = False
    try:
        async with aclosing(news):
            async for item in news:
                if isinstance(item, str):
                    yield wire.piece(version, task, item, first=not told)
                    told = True
                elif begun:
                    yield wire.end(version, item)
                    ended = True
                else:
                    yield wire.sent(version, item)
                    begun, told = True, bool(item.text)
    finally:
        if not ended:
            runtime.hung_up(task.task_id)


async def _events(call: dict[str, Any], items: Items) -> AsyncIterator[bytes]:
    async with aclosing(items):
        async for item in items:
            yield b"data: " + strict_json.encode(_result(call, item)) + b"\n\n"


def _result(call: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call["id"], "result": result}
