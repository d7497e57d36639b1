"""Every route has its name in figures and log, also those that FastAPI does not make; turns of the agent are timed."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.gateway.figures import Figures, figure, parsed
from tests.gateway.process import PATIENCE, Running, running
from tests.support.eventually import eventually
from tests.support.web import async_web_client
from websockets.asyncio.client import connect

COUNT = "holdfast_request_seconds_count"
ROUTES = (
    ("POST", "/a2a", "2xx"),
    ("GET", "/a2a", "4xx"),
    ("POST", "/a2a/uploads", "4xx"),
    ("POST", "/mcp", "2xx"),
    ("GET", "/agent-card", "2xx"),
    ("GET", "/.well-known/agent-card.json", "2xx"),
    ("GET", "/docs", "2xx"),
    ("GET", "/dashboard/assets/{name}", "4xx"),
    ("GET", "/api/feed", "2xx"),
    ("GET", "/ws", "1xx"),
)


def call(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


async def ask_all(gateway: Running, http: httpx2.AsyncClient) -> Figures:
    """Ask every route in turn; the figures while two feeds are still open."""
    headers = {"A2A-Version": "1.0"}
    await http.post("/a2a", json=call("GetTask", {"id": "none"}), headers=headers)
    await http.get("/a2a")
    await http.post("/a2a/uploads")
    await http.post("/mcp", json=call("ping", {}))
    for path in ("/agent-card", "/.well-known/agent-card.json", "/docs", "/dashboard/assets/none.js"):
        await http.get(path)
    async with http.stream("GET", "/api/feed") as feed, connect(gateway.live, proxy=None) as live:
        await anext(feed.aiter_lines())
        await live.recv()
        return parsed(await http.get("/metrics"))


async def test_routes_have_their_names_in_figures_and_log(tmp_path: Path) -> None:
    with running(tmp_path, "--log-requests") as gateway:
        async with async_web_client(base_url=gateway.url) as http:
            found = await ask_all(gateway, http)
            for method, route, status in ROUTES:
                assert figure(found, COUNT, method=method, route=route, status=status) == 1, route
            assert not [labels for name, labels in found if name == COUNT and ("route", "none") in labels]
        assert gateway.stop()[0] == 0
    lines = [json.loads(line) for line in (tmp_path / "logs" / "gateway.log").read_text().splitlines()]
    told = {line["fields"]["route"] for line in lines if "route" in line.get("fields", {})}
    assert told >= {route for _, route, _ in ROUTES}
    assert "none" not in told


async def test_a_path_that_is_not_served_is_no_route(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        async with async_web_client(base_url=gateway.url) as http:
            await http.get("/docs/more")
            found = parsed(await http.get("/metrics"))
    assert figure(found, COUNT, route="none", status="4xx") == 1


@pytest.mark.parametrize("engine", ["sqlite_url", "postgres_url"])
async def test_turns_are_timed_from_acceptance_to_rest_by_outcome(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with running(tmp_path, "--store", request.getfixturevalue(engine)) as gateway:
        async with async_web_client(base_url=gateway.url) as http:
            await http.post("/api/chat/agent:main:c", json={"text": "Think for 0.3 seconds."})
            asked = asyncio.create_task(http.post("/api/chat/agent:main:d", json={"text": "Think for 60 seconds."}))
            task = await running_task(http)
            await http.post("/a2a", json=call("CancelTask", {"id": task}), headers={"A2A-Version": "1.0"})
            await asked

            found: Figures = {}

            async def rested() -> bool:
                found.update(parsed(await http.get("/metrics")))
                return figure(found, "holdfast_turn_seconds_count", outcome="canceled") > 0

            await eventually(rested)
    assert figure(found, "holdfast_turn_seconds_count", outcome="completed") == 1
    assert figure(found, "holdfast_turn_seconds_bucket", outcome="completed", le="0.25") == 0
    assert figure(found, "holdfast_turn_seconds_sum", outcome="completed") >= 0.3
    assert figure(found, "holdfast_turn_seconds_count", outcome="canceled") == 1
    assert figure(found, "holdfast_turn_seconds_count", outcome="failed") == 0


async def running_task(http: httpx2.AsyncClient) -> str:
    """The id of the task that is at work, once there is one."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await http.post(
                "/a2a",
                json=call("ListTasks", {"status": "TASK_STATE_WORKING"}),
                headers={"A2A-Version": "1.0"},
            )
            tasks = answer.json()["result"]["tasks"]
            if tasks:
                return str(tasks[0]["id"])
            await asyncio.sleep(0.02)
