"""The gateway about itself: alive, ready, and what it is."""

import httpx2
import pytest
from fastapi import FastAPI

from holdfast import __version__
from holdfast.gateway.api.dashboard import ASSETS
from holdfast.gateway.app import create_app
from holdfast.gateway.gateway import Gateway
from holdfast.store import Store


async def test_health_says_who_and_since_when(client: httpx2.AsyncClient, store: Store) -> None:
    health = (await client.get("/health")).json()
    assert (health["status"], health["version"]) == ("ok", __version__)
    assert health["uptime"] >= 0
    assert health["websocket"] == {"totalConnections": 0, "users": 0, "sessions": 0}
    assert health["storage"]["engine"] == "sqlite"
    assert health["storage"]["storeId"] == store.store_id


async def test_readyz_names_engine_and_schema(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    assert answer.json()["schemaVersion"] >= 1
    assert answer.json()["figures"]["sizeBytes"] > 0


async def test_a_gateway_that_stops_is_not_ready(store: Store) -> None:
    gateway = Gateway(store)
    app: FastAPI = create_app(store, gateway=gateway)
    gateway.stopping.set()
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as client:
        answer = await client.get("/readyz")
        assert (answer.status_code, answer.json()["code"]) == (503, "closing")


async def test_the_root_says_what_is_served(client: httpx2.AsyncClient) -> None:
    answer = (await client.get("/")).json()
    assert (answer["service"], answer["version"]) == ("holdfast", __version__)
    document = (await client.get("/openapi.json")).json()
    assert set(answer["endpoints"]) == {*document["paths"], "/docs", "/mcp", "/openapi.json", "/ws", ASSETS}


@pytest.mark.parametrize("path", ["/", "/health", "/readyz", "/docs", "/openapi.json"])
async def test_whoever_only_wants_to_know_that_it_is_there_may_ask_with_head(
    client: httpx2.AsyncClient, path: str
) -> None:
    assert (await client.head(path)).status_code == 200


@pytest.mark.parametrize("path", ["/", "/health", "/api/sessions", "/api/actions/s1", "/api/state/s1", "/api/nothing"])
async def test_a_json_answer_is_a_whole_line(client: httpx2.AsyncClient, path: str) -> None:
    await client.patch("/api/state/s1", json={"phase": "plan"})
    answer = await client.get(path)
    assert answer.content.endswith(b"}\n")
    assert int(answer.headers["content-length"]) == len(answer.content)
