"""Every answer tells browsers to take it for what it is: on every route, good or bad."""

import re

import httpx2
import pytest
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send
from tests.gateway.process import Running
from tests.gateway.raw import get, raw
from tests.gateway.test_problems_everywhere import SMALLEST, filled, operations

from holdfast.gateway.connections.headers import HEADERS, SecurityHeaders
from holdfast.http.hosts import HostCheck
from holdfast.store import NewEvent, Store

EXPECTED = {name.decode(): value.decode() for name, value in HEADERS}


def check(answer: httpx2.Response) -> None:
    for name, value in EXPECTED.items():
        assert answer.headers.get_list(name) == [value], (answer.request.url, answer.status_code, name)
    assert "server" not in answer.headers


async def test_every_route_has_them_when_it_succeeds_and_when_it_fails(
    client: httpx2.AsyncClient, app: FastAPI, store: Store
) -> None:
    await store.append("s", [NewEvent("x", {})])
    seen = set()
    for method, path, entry in operations(app):
        if "text/event-stream" in str(entry["responses"]):
            continue  # goes on for ever
        for session_id in ("none", "bad id", "s"):
            body = SMALLEST.get(entry["operationId"]) if "requestBody" in entry else None
            answer = await client.request(method, filled(path, session_id), json=body)
            check(answer)
            seen.add(answer.status_code)
    assert {200, 201, 400, 404} <= seen


async def test_so_has_every_refusal(client: httpx2.AsyncClient) -> None:
    for method, path, headers in (
        ("GET", "/nope", {}),
        ("PUT", "/health", {}),
        ("GET", "/health", {"Host": "evil.example"}),
        ("GET", "/health", {"Origin": "https://evil.example"}),
        ("POST", "/api/actions/s", {"Content-Length": str(10**12)}),
        ("GET", "/openapi.json", {}),
    ):
        check(await client.request(method, path, headers=headers))


@pytest.mark.parametrize(
    "request_bytes", [b"garbage\r\n\r\n", get(headers=b"A: b\r\n" * 500), b"GET", get(), get("/none")]
)
def test_so_has_what_the_connection_itself_answers(tight_gateway: Running, request_bytes: bytes) -> None:
    with raw(tight_gateway.url, request_bytes) as sent:
        answer = sent.answer()
    for name, value in HEADERS:
        assert answer.headers[name] == value


async def test_what_an_answer_says_itself_stands() -> None:
    sent: list[Message] = []

    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"Content-Security-Policy", b"default-src 'self'"), (b"cache-control", b"max-age=60")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def keep(message: Message) -> None:
        sent.append(message)

    async def nothing() -> Message:
        return {"type": "http.request"}

    await SecurityHeaders(page)({"type": "http"}, nothing, keep)
    names = [name.lower() for name, _ in sent[0]["headers"]]
    assert sorted(names) == sorted(name for name, _ in HEADERS)
    assert (b"cache-control", b"max-age=60") in sent[0]["headers"]


async def test_a_refused_websocket_has_them_too() -> None:
    sent: list[Message] = []

    async def keep(message: Message) -> None:
        sent.append(message)

    async def nothing() -> Message:
        return {"type": "websocket.connect"}

    scope = {
        "type": "websocket",
        "headers": [(b"host", b"evil.example")],
        "extensions": {"websocket.http.response": {}},
    }
    await SecurityHeaders(HostCheck(nothing, hosts=()))(scope, nothing, keep)  # type: ignore[arg-type]
    assert sent[0]["status"] == 421
    assert set(HEADERS) <= set(sent[0]["headers"])
    assert not any(re.search(rb"[A-Z]", name) for name, _ in sent[0]["headers"])
