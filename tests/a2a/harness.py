"""A real A2A server on a real port, and a raw client that hides nothing."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from starlette.applications import Starlette

from holdfast.a2a import A2AServer, Handler, Turn
from holdfast.store import Store

SECONDS = 20.0


@dataclass(slots=True)
class Client:
    """Speaks both wire versions to one server."""

    url: str
    http: httpx2.AsyncClient

    async def post(self, body: bytes, version: str | None = None) -> httpx2.Response:
        headers = {"Content-Type": "application/json"} | ({"A2A-Version": version} if version else {})
        return await self.http.post(self.url + "/a2a", content=body, headers=headers)

    async def call(self, method: str, params: Any, version: str | None = None) -> dict[str, Any]:
        """The whole envelope that comes back."""
        request = {"jsonrpc": "2.0", "id": "r1", "method": method, "params": params}
        headers = {"A2A-Version": version} if version else {}
        response = await self.http.post(self.url + "/a2a", json=request, headers=headers)
        body: dict[str, Any] = response.json()
        assert body["jsonrpc"] == "2.0"
        assert body["id"] == "r1"
        return body

    async def send(self, text: str, context_id: str | None = "c", message_id: str = "m", **more: Any) -> dict[str, Any]:
        """A message in version 0.3; the task that comes back."""
        body = await self.call("message/send", message(text, context_id, message_id, **more))
        task: dict[str, Any] = body["result"]
        return task

    async def get(self, task_id: str) -> dict[str, Any]:
        """How a task stands, in version 0.3."""
        task: dict[str, Any] = (await self.call("tasks/get", {"id": task_id}))["result"]
        return task

    async def ended(self, task_id: str) -> dict[str, Any]:
        """The task once it has ended."""
        async with asyncio.timeout(SECONDS):
            while (task := await self.get(task_id))["status"]["state"] in {"submitted", "working"}:
                await asyncio.sleep(0.01)
        return task


def message(
    text: str, context_id: str | None = "c", message_id: str = "m", *, wait: bool = True, **more: Any
) -> dict[str, Any]:
    """The params of a 0.3 text message."""
    body = {"kind": "message", "role": "user", "messageId": message_id, "parts": [{"kind": "text", "text": text}]}
    if context_id is not None:
        body["contextId"] = context_id
    return {"message": body | more, "configuration": {"blocking": wait}}


def words(task: dict[str, Any]) -> str:
    """The text of a task's artifacts, in either version."""
    return "\n".join(part["text"] for artifact in task["artifacts"] for part in artifact["parts"])


@dataclass(slots=True)
class Gate:
    """A handler that answers each turn only when it is told to, and keeps what it was asked."""

    turns: list[Turn] = field(default_factory=list)
    most_at_once: int = 0
    interrupted: list[str] = field(default_factory=list)
    _now: int = 0
    _arrived: asyncio.Condition = field(default_factory=asyncio.Condition)
    _open: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def __call__(self, turn: Turn) -> AsyncIterator[str]:
        self.turns.append(turn)
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        async with self._arrived:
            self._arrived.notify_all()
        try:
            await self._open.acquire()
        except asyncio.CancelledError:
            self.interrupted.append(turn.text)
            raise
        finally:
            self._now -= 1
        yield "did "
        yield turn.text

    def let(self, turns: int) -> None:
        """Let so many turns finish."""
        for _ in range(turns):
            self._open.release()

    async def seen(self, turns: int) -> None:
        """Wait until so many turns have begun."""
        async with asyncio.timeout(SECONDS), self._arrived:
            await self._arrived.wait_for(lambda: len(self.turns) >= turns)


async def tell(turn: Turn) -> AsyncIterator[str]:
    """A handler that says what it has heard."""
    yield " | ".join([f"{said.role}:{said.text}" for said in turn.history] + [turn.text])


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(SECONDS):
        while not await condition():
            await asyncio.sleep(0.01)


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def listening(server: A2AServer) -> AsyncIterator[Client]:
    """The server's routes on a free port; starting and stopping the server itself is the caller's business."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(Starlette(routes=server.routes), log_config=None, lifespan="off", ws="none")
    web = _Server(config)
    serving = asyncio.create_task(web.serve(sockets=[listener]))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        async with httpx2.AsyncClient(trust_env=False, timeout=SECONDS) as http:
            yield Client(url, http)
    finally:
        web.should_exit = True
        await serving


@asynccontextmanager
async def running(store: Store, handler: Handler, *, agent: str = "main", alone: bool = False) -> AsyncIterator[Client]:
    """A server that runs, from start to stop."""
    server = A2AServer(store, handler, agent=agent, version="1", workspace=Path(), url="http://127.0.0.1:1")
    await server.start(alone)
    async with listening(server) as client:
        try:
            yield client
        finally:
            await server.stop(0)
