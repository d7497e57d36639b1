"""A real A2A server on a real port, and a raw client that hides nothing."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from starlette.applications import Starlette
from tests.support.processes import Process
from tests.support.web import async_web_client

from holdfast.a2a import A2AServer, Handler, Turn
from holdfast.a2a.handler import Output
from holdfast.a2a.turns.timing import TurnTiming
from holdfast.http.web_server import WebServer
from holdfast.store import Store

SECONDS = 20.0
QUICK = TurnTiming(round_seconds=0.1, renew_seconds=0.2, look_seconds=0.1, pauses=(0.0, 0.0, 0.0))
"""Looks often at what the others do, and is believed to live as long as ever: machines that run tests are slow."""


@dataclass(slots=True)
class Client:
    """Speaks both wire versions to one server."""

    url: str
    http: httpx2.AsyncClient

    async def post(self, body: bytes, version: str | None = None) -> httpx2.Response:
        headers = {"Content-Type": "application/json"} | ({"A2A-Version": version} if version else {})
        return await self.http.post(self.url + "/a2a", content=body, headers=headers)

    async def call(self, method: str, params: Any, version: str | None = None) -> dict[str, Any]:
        """The whole envelope that comes back, be it as the only event of a stream."""
        request = {"jsonrpc": "2.0", "id": "r1", "method": method, "params": params}
        headers = {"A2A-Version": version} if version else {}
        response = await self.http.post(self.url + "/a2a", json=request, headers=headers)
        [text] = [response.text] if response.text.startswith("{") else events_in(response.text)
        body: dict[str, Any] = json.loads(text)
        assert body["jsonrpc"] == "2.0"
        assert body["id"] == "r1"
        return body

    async def send(self, text: str, context_id: str | None = "c", message_id: str = "m", **more: Any) -> dict[str, Any]:
        """A message in version 0.3; the task that comes back."""
        body = await self.call("message/send", message(text, context_id, message_id, **more))
        task: dict[str, Any] = body["result"]
        return task

    @asynccontextmanager
    async def stream(self, method: str, params: Any, version: str | None = "1.0") -> AsyncIterator["Stream"]:
        """The results of a stream, one by one; leaving the block hangs up."""
        request = {"jsonrpc": "2.0", "id": "r1", "method": method, "params": params}
        headers = {"A2A-Version": version} if version else {}
        async with self.http.stream("POST", self.url + "/a2a", json=request, headers=headers) as response:
            assert response.headers["content-type"].startswith("text/event-stream"), await response.aread()
            yield Stream(response.aiter_lines())

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


@dataclass(slots=True)
class Stream:
    """The results that come over one connection."""

    lines: AsyncIterator[str]

    async def next(self) -> dict[str, Any]:
        """The next result."""
        async with asyncio.timeout(SECONDS):
            async for line in self.lines:
                if line.startswith("data:"):
                    result: dict[str, Any] = json.loads(line[5:])["result"]
                    return result
        raise StopAsyncIteration

    async def rest(self) -> list[dict[str, Any]]:
        """All that is still to come, until the stream ends."""
        results = []
        with contextlib.suppress(StopAsyncIteration):
            while True:
                results.append(await self.next())
        return results


def events_in(text: str) -> list[str]:
    """The data of a whole stream's events."""
    return [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")]


def sending(text: str, context_id: str | None = "c", message_id: str = "m", **more: Any) -> dict[str, Any]:
    """The params of a 1.0 text message."""
    body = {"role": "ROLE_USER", "messageId": message_id, "parts": [{"text": text}]}
    return {"message": body | ({} if context_id is None else {"contextId": context_id}) | more}


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


@dataclass(slots=True)
class Conducted:
    """A handler that puts out what the test gives it, when it gives it; None is the end of a turn."""

    turns: list[Turn] = field(default_factory=list)
    outputs: "asyncio.Queue[Output | None]" = field(default_factory=asyncio.Queue)
    interrupted: list[str] = field(default_factory=list)

    async def __call__(self, turn: Turn) -> AsyncIterator[Output]:
        self.turns.append(turn)
        try:
            while (output := await self.outputs.get()) is not None:
                yield output
        except asyncio.CancelledError:
            self.interrupted.append(turn.text)
            raise

    def put(self, *outputs: Output | None) -> None:
        """Have these put out."""
        for output in outputs:
            self.outputs.put_nowait(output)


async def tell(turn: Turn) -> AsyncIterator[str]:
    """A handler that says what it has heard."""
    yield " | ".join([f"{said.role}:{said.text}" for said in turn.history] + [turn.text])


class _Server(WebServer):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def listening(server: A2AServer | Starlette) -> AsyncIterator[Client]:
    """The server's routes on a free port; starting and stopping the server itself is the caller's business."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each answer takes 40 ms
    app = Starlette(routes=server.routes)
    config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none", proxy_headers=False)
    web = _Server(config)
    serving = asyncio.create_task(web.serve(sockets=[listener]))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        async with async_web_client(timeout=SECONDS) as http:
            yield Client(url, http)
    finally:
        web.stop()
        await serving


@asynccontextmanager
async def running(
    store: Store, handler: Handler, *, agent: str = "main", alone: bool = False, **more: Any
) -> AsyncIterator[Client]:
    """A server that runs, from start to stop."""
    options: dict[str, Any] = {"agent": agent, "version": "1", "workspace": Path(), "url": "http://127.0.0.1:1"}
    options |= {"reply_seconds": 0, "timing": QUICK} | more
    server = A2AServer(store, handler, **options)
    await server.start(alone)
    async with listening(server) as client:
        try:
            yield client
        finally:
            await server.stop(0)


@asynccontextmanager
async def agent_process(child: Process, port: int, seconds: float = SECONDS) -> AsyncIterator[Process]:
    """A process that is an agent, once it answers on its port; killed at the end if it still runs."""
    with child:
        try:
            async with asyncio.timeout(seconds), async_web_client() as http:
                while True:
                    try:
                        await http.get(f"http://127.0.0.1:{port}/agent-card")
                        break
                    except httpx2.TransportError:
                        assert child.poll() is None
                        await asyncio.sleep(0.02)
            yield child
        finally:
            child.kill()
            await exit_code(child)


async def exit_code(child: Process) -> int:
    """The exit code of a process, once it has one."""
    return await asyncio.to_thread(child.wait, SECONDS)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number: int = listener.getsockname()[1]
        return number
