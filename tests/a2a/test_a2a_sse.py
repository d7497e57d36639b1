"""Streams on the wire: every event is a whole answer to its request, a quiet stream lives, and each has its end."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from tests.a2a.harness import SECONDS, Client, Conducted, listening, message, running, sending

from holdfast.a2a import A2AServer
from holdfast.a2a.protocol import v10
from holdfast.a2a.protocol.rpc import RpcError
from holdfast.a2a.protocol.wire import News, TaskView
from holdfast.a2a.server import answers
from holdfast.core import TaskState
from holdfast.core.errors import StoreFailed
from holdfast.http.event_stream import AnswerStream
from holdfast.store import Store

VIEW = TaskView("t", "c", TaskState.WORKING, 0)


async def lines_of(client: Client, method: str, params: Any, version: str | None = "1.0", **envelope: Any) -> list[str]:
    """Every line of a whole stream."""
    request = {"jsonrpc": "2.0", "id": "r1", "method": method, "params": params} | envelope
    headers = {"A2A-Version": version} if version else {}
    async with client.http.stream("POST", client.url + "/a2a", json=request, headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        return (await response.aread()).decode().split("\n")


async def test_every_event_is_a_whole_answer_with_the_id_of_its_request(store: Store) -> None:
    agent = Conducted()
    agent.put("a line\nand\u2028another\u0085", None, "x", None)
    async with running(store, agent) as client:
        new = await lines_of(client, "SendStreamingMessage", sending("hi", message_id="m1"), id=7)
        old = await lines_of(client, "message/stream", message("hi", message_id="m2"), None)
    for lines, call_id in ((new, 7), (old, "r1")):
        events, ends = lines[0:-1:2], lines[1:-1:2]
        assert set(ends) == {""}, "every event is one line of data"
        assert all(json.loads(line.removeprefix("data: "))["id"] == call_id for line in events)
        assert all(line.isascii() for line in events), "what some readers take for a line end is escaped"
    results = [json.loads(line.removeprefix("data: "))["result"] for line in new[0:-1:2]]
    assert [next(iter(result)) for result in results] == [
        "task",
        "statusUpdate",
        "artifactUpdate",
        "artifactUpdate",
        "statusUpdate",
    ]
    assert results[2]["artifactUpdate"]["artifact"]["parts"] == [{"text": "a line\nand\u2028another\u0085"}]
    kinds = [json.loads(line.removeprefix("data: "))["result"] for line in old[0:-1:2]]
    assert [(kind["kind"], kind.get("final")) for kind in kinds] == [
        ("task", None),
        ("status-update", False),
        ("artifact-update", None),
        ("artifact-update", None),
        ("status-update", True),
    ]


async def test_a_quiet_stream_says_that_it_lives(store: Store) -> None:
    agent = Conducted()
    async with (
        asyncio.timeout(SECONDS),
        running(store, agent, heartbeat_seconds=0.02) as client,
        client.stream("SendStreamingMessage", sending("hi")) as stream,
    ):
        seen: list[str] = []
        while seen.count(": still here") < 3:
            seen.append(await anext(stream.lines))
        agent.put("done", None)
        assert (await stream.rest())[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_an_error_on_the_way_is_the_last_answer() -> None:
    async def breaking(error: Exception) -> AsyncGenerator[News]:
        yield VIEW
        raise error

    for error, code in ((RpcError(-32004, "no"), -32004), (StoreFailed("gone"), -32603), (ValueError("!"), -32603)):
        said = [answer async for answer in answers("r1", v10, VIEW, breaking(error))]
        assert [next(iter(answer["result"])) for answer in said[:-1]] == ["task", "task"]
        assert said[-1]["error"]["code"] == code
        assert "!" not in said[-1]["error"]["message"]


async def test_a_server_that_stops_ends_its_streams_with_how_the_turn_ended(store: Store) -> None:
    agent = Conducted()
    server = A2AServer(store, agent, version="1", workspace=Path(), url=None)
    await server.start(alone=False)
    async with listening(server) as client, client.stream("SendStreamingMessage", sending("hi")) as stream:
        await stream.next()
        agent.put("half ")
        while "artifactUpdate" not in await stream.next():
            pass
        await server.stop(0)
        assert (await stream.rest())[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_FAILED"


class Connection:
    """One end of an ASGI connection: what was sent, and the client's leaving; one that is `stuck` takes no more than
    the first event."""

    def __init__(self, request: bytes = b"", *, stuck: bool = False) -> None:
        self.request = request
        self.stuck = stuck
        self.sent = bytearray()
        self.whole = False
        self.changed = asyncio.Event()
        self.left = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        if self.request:
            body, self.request = self.request, b""
            return {"type": "http.request", "body": body}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, piece: Any) -> None:
        if piece["type"] == "http.response.body":
            self.sent += piece["body"]
            self.whole = not piece.get("more_body", False)
            self.changed.set()
            if self.stuck:
                await asyncio.Event().wait()


async def test_a_server_that_stops_lets_go_of_a_client_that_takes_nothing(store: Store) -> None:
    server = A2AServer(store, Conducted(), version="1", workspace=Path(), url=None)
    await server.start(alone=False)
    request = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": sending("hi")}
    connection = Connection(json.dumps(request).encode(), stuck=True)
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/a2a",
        "query_string": b"",
        "headers": [(b"a2a-version", b"1.0"), (b"content-type", b"application/json")],
    }
    answering = asyncio.create_task(Starlette(routes=server.routes)(scope, connection.receive, connection.send))
    async with asyncio.timeout(SECONDS):
        await connection.changed.wait()
        await server.stop(0)
        await answering
    assert b'"task"' in connection.sent


async def test_answers_without_end_are_cut_off_by_a_stop_and_the_client_is_told() -> None:
    closed = asyncio.Event()
    stopping = asyncio.Event()

    async def endless() -> AsyncGenerator[dict[str, Any]]:
        try:
            yield {"n": 1}
            await asyncio.Event().wait()
        finally:
            closed.set()

    connection = Connection()
    stream = AnswerStream(endless(), stopping=stopping, cut_off={"error": "stopping"})
    answering = asyncio.create_task(stream({"type": "http"}, connection.receive, connection.send))
    await connection.changed.wait()
    stopping.set()
    async with asyncio.timeout(SECONDS):
        await answering
    assert bytes(connection.sent) == b'data: {"n":1}\n\ndata: {"error":"stopping"}\n\n'
    assert connection.whole
    assert closed.is_set()


async def test_a_client_that_leaves_is_sent_nothing_more_and_its_answers_are_let_go() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncGenerator[dict[str, Any]]:
        try:
            yield {"n": 1}
            await asyncio.Event().wait()
        finally:
            closed.set()

    connection = Connection()
    stream = AnswerStream(endless(), stopping=asyncio.Event(), cut_off={})
    answering = asyncio.create_task(stream({"type": "http"}, connection.receive, connection.send))
    await connection.changed.wait()
    connection.left.set()
    async with asyncio.timeout(SECONDS):
        await answering
    assert bytes(connection.sent) == b'data: {"n":1}\n\n'
    assert closed.is_set()
