"""`/metrics`: what was done is counted, under a bounded number of labels that give nobody away."""

import asyncio
import subprocess
import sys

import httpx2
import psycopg
import pytest
from fastapi import FastAPI
from tests.gateway.figures import figure, parsed
from tests.gateway.process import PATIENCE, served
from tests.support.web import async_web_client
from websockets.asyncio.client import connect

from holdfast import __version__
from holdfast.core.errors import StoreUnavailable
from holdfast.gateway.app import create_app
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.feed.hub import Cursor, FeedPage, Hub


async def metrics(client: httpx2.AsyncClient) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return parsed(await client.get("/metrics"))


async def test_requests_are_counted_by_method_template_and_class_of_status(client: httpx2.AsyncClient) -> None:
    for number in range(3):
        assert (await client.post(f"/api/actions/s{number}", json={"type": "note"})).status_code == 201
    await client.get("/api/sessions/none")
    await client.get("/api/keys/a/b/c")
    await client.put("/api/sessions/s1")
    await client.get("/nothing/here")
    found = await metrics(client)
    for method, route, status, count in (
        ("POST", "/api/actions/{session_id}", "2xx", 3),
        ("GET", "/api/sessions/{session_id}", "4xx", 1),
        ("GET", "/api/keys/{key:path}", "4xx", 1),
        ("GET", "none", "4xx", 1),
    ):
        labels = {"method": method, "route": route, "status": status}
        assert figure(found, "holdfast_request_seconds_count", **labels) == count
        assert figure(found, "holdfast_request_seconds_bucket", **labels, le="+Inf") == count
        assert 0 < figure(found, "holdfast_request_seconds_sum", **labels) < PATIENCE
    assert figure(found, "holdfast_requests_under_way") == 1
    again = await metrics(client)
    assert figure(again, "holdfast_request_seconds_count", route="/metrics") == 1


async def test_no_request_can_make_new_labels(client: httpx2.AsyncClient) -> None:
    for number in range(200):
        await client.request(f"ODD{number}", f"/odd/{number}")
        await client.get(f"/api/sessions/someone-{number}", headers={"Holdfast-Tenant": f"tenant-{number}"})
        await client.post("/api/actions/s", json={"type": f"kind-{number}"})
    found = await metrics(client)
    routes = {value for _, labels in found for name, value in labels if name == "route"}
    assert routes == {"none", "/api/sessions/{session_id}", "/api/actions/{session_id}"}
    assert {value for _, labels in found for name, value in labels if name == "method"} <= {"GET", "POST", "OTHER"}
    text = (await client.get("/metrics")).text
    assert not any(secret in text for secret in ("someone-", "tenant-", "kind-", "odd"))
    assert len(found) < 250


async def test_events_writes_and_groups_are_counted(client: httpx2.AsyncClient, store: Store) -> None:
    before = await metrics(client)
    await client.post("/api/actions/s", json={"type": "note"})
    await client.post("/api/actions/s/batch", json=[{"type": "note"}] * 10)
    await asyncio.gather(*(store.append(f"s{n}", [NewEvent("n", {})]) for n in range(20)))
    assert (await client.post("/api/actions/s", json={"type": "late", "expectedSeq": 1})).status_code == 409
    after = await metrics(client)
    grown = {
        name: figure(after, name) - figure(before, name)
        for name in ("holdfast_events_appended_total", "holdfast_writes_total", "holdfast_commit_seconds_count")
    }
    assert grown["holdfast_events_appended_total"] == 31
    assert 22 <= grown["holdfast_writes_total"] <= 23
    assert 1 <= grown["holdfast_commit_seconds_count"] <= 23
    assert figure(after, "holdfast_commit_seconds_bucket", le="+Inf") == figure(after, "holdfast_commit_seconds_count")
    assert figure(after, "holdfast_writes_waiting") == 0


async def test_refusals_are_counted_by_status(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/health", headers={"Host": "elsewhere.example"})).status_code == 421
    assert (await client.get("/health", headers={"Origin": "https://elsewhere.example"})).status_code == 403
    assert (await client.post("/api/actions/s", content=bytes(32 * 1024 * 1024))).status_code == 413
    found = await metrics(client)
    for status, count in (("421", 1), ("403", 1), ("413", 1), ("401", 0), ("429", 0)):
        assert figure(found, "holdfast_refused_total", status=status) == count


async def test_live_connections_are_counted_while_they_last(store: Store) -> None:
    await store.append("s", [NewEvent("n", {})])
    async with (
        served(store) as here,
        async_web_client(base_url=f"http://127.0.0.1:{here.port}") as client,
    ):
        async with asyncio.timeout(PATIENCE), connect(f"{here.live}?session=s", proxy=None) as live:
            await live.recv()
            found = await metrics(client)
            assert figure(found, "holdfast_live_connections", kind="websocket") == 1
            assert figure(found, "holdfast_feed_lag_seconds") < PATIENCE
            async with client.stream("GET", "/api/feed?session=s&after=0") as feed:
                chunks = feed.aiter_bytes()
                await anext(chunks)
                assert figure(await metrics(client), "holdfast_live_connections", kind="sse") == 1
        async with asyncio.timeout(PATIENCE):
            found = await metrics(client)
            while sum(figure(found, "holdfast_live_connections", kind=kind) for kind in ("websocket", "sse")):
                await asyncio.sleep(0.01)
                found = await metrics(client)
        assert figure(found, "holdfast_feed_lag_seconds") == 0


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_the_store_is_measured(request: pytest.FixtureRequest, engine: str) -> None:
    url: str = request.getfixturevalue({"sqlite": "sqlite_url", "postgresql": "postgres_url"}[engine])
    async with await open_store(url) as store, client_of(create_app(store)) as client:
        found = await metrics(client)
    assert figure(found, "holdfast_store_up") == 1
    assert figure(found, "holdfast_store_failed") == 0
    assert figure(found, "holdfast_db_bytes") > 0
    info = next(dict(labels) for name, labels in found if name == "holdfast_info")
    assert (info["version"], info["engine"]) == (__version__, engine)
    names = {name for name, _ in found}
    if engine == "sqlite":
        assert {
            "holdfast_db_free_bytes",
            "holdfast_wal_bytes",
            "holdfast_disk_free_bytes",
            "holdfast_short_of_room",
        } <= names
    else:
        assert figure(found, "holdfast_feed_held_seconds") >= 0
        assert {lane for name, labels in found if name == "holdfast_writes_total" for _, lane in labels} == set("0123")
    assert {"holdfast_uptime_seconds", "holdfast_stopping", "process_resident_memory_bytes"} <= names


async def test_a_transaction_that_holds_the_feed_is_seen(postgres_url: str) -> None:
    async with await open_store(postgres_url) as store, client_of(create_app(store)) as client:
        with psycopg.connect(postgres_url) as other:
            other.execute("SELECT pg_current_xact_id()")
            async with asyncio.timeout(PATIENCE):
                while figure(await metrics(client), "holdfast_feed_held_seconds") < 1:
                    await asyncio.sleep(0.1)


async def test_a_store_that_went_away_is_said_and_everything_else_still_counted(postgres_url: str) -> None:
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    async with await open_store(postgres_url) as store, client_of(create_app(store)) as client:
        with psycopg.connect(postgres_url.replace(f"/{name}?", "/postgres?"), autocommit=True) as server:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())
        found = await metrics(client)
        assert figure(found, "holdfast_store_up") == 0
        assert "holdfast_db_bytes" not in {name for name, _ in found}
        assert figure(found, "holdfast_requests_under_way") == 1
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["code"]) == (503, "store_unavailable")


def client_of(app: FastAPI) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost", trust_env=False)


def test_a_gateway_that_nobody_measures_does_not_load_what_measures() -> None:
    program = "import sys, holdfast.gateway.serve; sys.exit('prometheus_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


async def test_a_feed_that_cannot_read_the_store_is_behind_until_it_can() -> None:
    away = True

    async def page(_cursor: Cursor, _snapshot: str | None) -> FeedPage:
        if away:
            raise StoreUnavailable("the database is away")
        return FeedPage([], True)

    async def end() -> Cursor:
        return Cursor("", 0, 0)

    hub = Hub(page, end)
    assert hub.lag == 0
    async with asyncio.timeout(PATIENCE):
        with hub.subscribe(None):
            while hub.lag < 0.3:
                await asyncio.sleep(0.01)
            away = False
            while hub.lag > 0.2:
                await asyncio.sleep(0.01)
    assert hub.lag == 0
