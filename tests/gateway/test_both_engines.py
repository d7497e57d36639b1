"""The gateway is the same on SQLite and on PostgreSQL; on PostgreSQL there may be several."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.gateway.process import PATIENCE, running, served
from tests.support.web import async_web_client
from websockets.asyncio.client import connect

from holdfast.store import Store, open_store


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with await open_store(store_url) as opened:
        yield opened


async def test_a_tour(store: Store) -> None:
    async with served(store) as here:
        base_url = f"http://127.0.0.1:{here.port}"
        async with async_web_client(base_url=base_url) as client:
            ready = await client.get("/readyz")
            assert (ready.status_code, ready.json()["storage"]["engine"]) == (200, store.engine.name)
            made = await client.post("/api/sessions", json={"sessionId": "s", "userId": "ada"})
            assert made.status_code == 201
            async with asyncio.timeout(PATIENCE), connect(f"{here.live}?session=s", proxy=None) as live:
                await live.recv()
                lines = b'{"type":"a","details":{ "n" : 1 }}\n{"type":"b"}'
                assert (await client.post("/api/actions/s/batch", content=lines)).status_code == 201
                assert (await client.patch("/api/state/s", json={"phase": "ready"})).json()["version"] == 1
                told = [json.loads(await live.recv()) for _ in range(3)]
            assert [message["type"] for message in told] == ["action", "action", "state_updated"]
            assert '"details":{ "n" : 1 }' in (await client.get("/api/actions/s?limit=2")).text
            stale = await client.post("/api/actions/s", json={"type": "c", "expectedSeq": 1})
            assert (stale.status_code, stale.json()["headSeq"]) == (409, 4)
            shown = (await client.get("/api/sessions/s")).json()
            assert (shown["metadata"]["userId"], shown["state"]["phase"]) == ("ada", "ready")
            assert [row["sessionId"] for row in (await client.get("/api/sessions?user=ada")).json()["sessions"]] == [
                "s"
            ]


async def test_two_gateways_serve_one_postgresql(postgres_url: str, tmp_path: Path) -> None:
    with (
        running(tmp_path / "one", "--store", postgres_url) as one,
        running(tmp_path / "two", "--store", postgres_url) as two,
    ):
        async with async_web_client() as client:
            await client.post(f"{one.url}/api/actions/s", json={"type": "a"})
            async with asyncio.timeout(PATIENCE), connect(f"{two.live}?session=s&after=0", proxy=None) as live:
                await live.recv()
                assert json.loads(await live.recv())["seq"] == 1
                await client.post(f"{one.url}/api/actions/s", json={"type": "b"})
                assert json.loads(await live.recv())["seq"] == 2
        assert one.stop() == (0, "")
        assert two.stop() == (0, "")
