"""Every failure has one shape: problem+json with type, title, status, detail and code, and no internals."""

import json
import re
from collections.abc import AsyncIterator

import httpx2
import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from holdfast.core.errors import Busy
from holdfast.gateway.app import create_app
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.store import Store


def check(answer: httpx2.Response) -> dict[str, object]:
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, object] = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["type"] == f"urn:holdfast:problem:{problem['code']}"
    assert all(isinstance(problem[name], str) and problem[name] for name in ("title", "detail", "code"))
    assert re.fullmatch("[a-z_]+", str(problem["code"]))
    return problem


async def failing(_request: Request) -> Response:
    raise RuntimeError("the secret path is /secret/place")


async def busy(_request: Request) -> Response:
    raise Busy("10000 writes are waiting already", retry_after=3)


@pytest.fixture
def app(store: Store) -> FastAPI:
    app = create_app(store, limits=ConnectionLimits(max_body=64 * 1024))
    app.router.routes += [Route("/failing", failing), Route("/busy", busy)]
    return app


async def test_an_unknown_path_is_a_problem(client: httpx2.AsyncClient) -> None:
    for path in ("/nope", "/api/", "/api/sessions/", "/api/sessions/s/nope", "/doc", "/ws"):
        said = check(await client.get(path))
        assert said["code"] == "no_route"
        assert re.search(r"GET / .*/docs", str(said["hint"]))


async def test_a_wrong_method_names_all_that_are_right(client: httpx2.AsyncClient) -> None:
    answer = await client.put("/api/actions/s")
    assert check(answer)["allowed"] == ["GET", "HEAD", "POST"]
    assert answer.headers["allow"] == "GET, HEAD, POST"
    assert check(await client.put("/api/state/s"))["allowed"] == ["GET", "PATCH"]


async def test_a_defect_is_logged_and_not_shown(client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture) -> None:
    answer = await client.get("/failing")
    assert (answer.status_code, check(answer)["code"]) == (500, "internal")
    assert "secret" not in answer.text
    assert "RuntimeError" not in answer.text
    assert "/secret/place" in caplog.text


async def test_busy_says_when_to_try_again(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/busy")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")
    assert check(answer)["retryAfter"] == 3


async def test_a_closed_store_is_a_problem(client: httpx2.AsyncClient, store: Store) -> None:
    await client.post("/api/actions/s", json={"type": "x"})
    await store.close()
    answer = await client.post("/api/actions/s", json={"type": "x"})
    assert (answer.status_code, check(answer)["code"]) == (503, "closing")
    assert answer.headers["retry-after"] == "1"
    assert check(await client.get("/readyz"))["status"] == 503
    assert (await client.get("/health")).status_code == 200


async def test_a_body_that_says_it_is_too_long_is_refused_at_once(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/api/actions/s", content=b"x" * (64 * 1024 + 1))
    assert (answer.status_code, check(answer)["limit"]) == (413, 64 * 1024)


@pytest.mark.parametrize("path", ["/api/actions/s", "/api/actions/s/batch", "/api/sessions"])
async def test_no_more_of_an_endless_body_is_taken_than_the_limit(client: httpx2.AsyncClient, path: str) -> None:
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield b" " * 1024

    answer = await client.post(path, content=endless())
    assert (answer.status_code, check(answer)["code"]) == (413, "too_large")
    assert taken <= 66


async def test_a_large_body_within_the_limit_passes(client: httpx2.AsyncClient) -> None:
    body = {"type": "x", "details": {"text": "y" * (63 * 1024)}}
    assert (await client.post("/api/actions/s", content=json.dumps(body).encode())).status_code == 201
