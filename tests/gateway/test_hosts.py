"""Only requests that are meant for the gateway reach it: no other host's name, no other site's page."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from holdfast.gateway.app import create_app
from holdfast.store import Store


@pytest.fixture
async def client(store: Store) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(store, hosts=["agents.example"]))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as made:
        yield made


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:9000", "127.0.0.1:1", "127.1.2.3", "[::1]:9000", "LOCALHOST", "agents.example:80"]
)
async def test_our_names_are_served(client: httpx2.AsyncClient, host: str) -> None:
    assert (await client.get("/health", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "10.0.0.1", "", "evil.example@x", "[::2]", "[", "0.0.0.0"]
)
async def test_other_names_are_misdirected(client: httpx2.AsyncClient, host: str) -> None:
    answer = await client.get("/health", headers={"Host": host})
    assert (answer.status_code, answer.json()["code"]) == (421, "wrong_host")


@pytest.mark.parametrize("origin", ["http://localhost:3000", "https://127.0.0.1", "http://agents.example"])
async def test_our_pages_are_served(client: httpx2.AsyncClient, origin: str) -> None:
    assert (await client.get("/health", headers={"Origin": origin})).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "file://", "http://localhost.evil.example", ""])
async def test_other_sites_pages_are_refused(client: httpx2.AsyncClient, origin: str) -> None:
    answer = await client.post(
        "/api/actions/s", content=b'{"type":"x"}', headers={"Origin": origin, "Content-Type": "text/plain"}
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")
    assert (await client.get("/api/sessions")).json()["sessions"] == []
