"""What an operator asks over HTTP: status, verification, retention, backup."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from tests.gateway.test_transfer import damage

from holdfast import __version__
from holdfast.gateway.app import create_app
from holdfast.gateway.gateway import Gateway
from holdfast.store import NewEvent, Store, open_store


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with await open_store(store_url) as opened:
        yield opened


@pytest.fixture
def app(store: Store, tmp_path: Path) -> FastAPI:
    return create_app(store, gateway=Gateway(store, tmp_path))


async def fill(store: Store, *names: str) -> None:
    for name in names:
        await store.append(name, [NewEvent("n", {"n": n}) for n in range(5)])


async def verify(client: httpx2.AsyncClient, body: Any = None) -> list[dict[str, Any]]:
    answer = await client.post("/api/verify", json=body) if body is not None else await client.post("/api/verify")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson"), answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_status_says_what_runs_where(client: httpx2.AsyncClient, store: Store, tmp_path: Path) -> None:
    await fill(store, "a", "b")
    status = (await client.get("/api/status")).json()
    assert (status["version"], status["engine"], status["storeId"]) == (__version__, store.engine.name, store.store_id)
    assert (status["sessions"], status["events"], status["dataFolder"]) == (2, 10, str(tmp_path))
    assert (status["schema"] >= 2, status["sizeBytes"] > 0, status["pid"] > 0) == (True, True, True)
    assert status["store"] == store.engine.url
    assert (status["walSizeBytes"] is None) == (store.engine.name == "postgresql")


async def test_every_session_is_verified(client: httpx2.AsyncClient, store: Store) -> None:
    await fill(store, "a", "b")
    lines = await verify(client)
    assert (lines[0], lines[-1]) == ({"files": []}, {"done": True, "verified": 2, "bad": 0})
    assert [line["sessionId"] for line in lines[1:-1]] == ["a", "b"]
    head = (await store.sessions.get("a")).head_hash.hex()
    good = {"ok": True, "events": 5, "problem": None, "badSeq": None}
    assert lines[1] == {"sessionId": "a", "headHash": head, **good}
    assert [line.get("sessionId") for line in (await verify(client, {"sessions": ["b"]}))[1:-1]] == ["b"]
    assert len(await verify(client, {"sessions": []})) == 2


async def test_the_first_bad_event_is_named(client: httpx2.AsyncClient, store: Store, store_url: str) -> None:
    await fill(store, "a", "b")
    damage(store_url, "UPDATE transcript_events SET payload = {blob} WHERE seq = 3 AND session_no = 1")
    lines = await verify(client)
    assert [(line["sessionId"], line["ok"], line["badSeq"]) for line in lines[1:-1]] == [
        ("a", False, 3),
        ("b", True, None),
    ]
    assert lines[1]["problem"]
    assert lines[-1] == {"done": True, "verified": 2, "bad": 1}


async def test_what_cannot_be_verified_is_a_problem(client: httpx2.AsyncClient, store: Store) -> None:
    await fill(store, "a")
    for body, status in (
        ({"sessions": ["none"]}, 404),
        ({"sessions": ["bad id"]}, 400),
        ({"sessions": "a"}, 400),
        ([], 400),
    ):
        assert (await client.post("/api/verify", json=body)).status_code == status


async def test_retention_says_first_and_deletes_then(client: httpx2.AsyncClient, store: Store) -> None:
    await fill(store, "a")
    await store.sessions.hold("a", True)
    await fill(store, "b", "c")
    plan = (await client.post("/api/retention", json={"maxSessions": 1, "dryRun": True})).json()
    assert ([each["sessionId"] for each in plan["doomed"]], plan["deleted"]) == (["b", "c"], [])
    assert plan["held"] == ["a"]
    assert set(plan["doomed"][0]) == {"sessionId", "reason", "updatedAt", "sizeBytes"}
    assert plan["doomed"][0]["updatedAt"].endswith("Z")
    assert len((await client.get("/api/sessions")).json()["sessions"]) == 3
    done = (await client.post("/api/retention", json={"maxSessions": 1})).json()
    assert done["deleted"] == ["b", "c"]
    assert (await client.get("/api/sessions/b")).status_code == 410
    assert [row["sessionId"] for row in (await client.get("/api/sessions")).json()["sessions"]] == ["a"]
    assert (await client.post("/api/retention", json={})).json() == {"doomed": [], "held": [], "deleted": []}
    wrong: list[Any] = [{"maxSessions": -1}, {"maxAgeMs": "1d"}, {"maxBytes": 1.5}, {"dryRun": "no"}, []]
    for body in wrong:
        assert (await client.post("/api/retention", json=body)).status_code == 400


async def test_a_backup_is_made_and_checked(client: httpx2.AsyncClient, store: Store, tmp_path: Path) -> None:
    await fill(store, "a", "b")
    path = tmp_path / "copies" / "one.backup"
    made = await client.post("/api/backup", json={"path": str(path)})
    assert made.status_code == 200, made.text
    assert made.json() == {
        "path": str(path),
        "bytes": path.stat().st_size,
        "sessions": 2,
        "checked": True,
        "damaged": [],
        "files": 0,
    }
    assert (await client.post("/api/backup", json={"path": str(path)})).status_code == 400
    for wrong in ("relative", "", "/a\0b"):
        assert (await client.post("/api/backup", json={"path": wrong})).status_code == 400
    assert [each.name for each in path.parent.iterdir()] == ["one.backup"]


async def test_a_backup_is_given_up_when_the_gateway_stops(store: Store, tmp_path: Path) -> None:
    await fill(store, "a")
    gateway = Gateway(store, tmp_path)
    gateway.stopping.set()
    transport = httpx2.ASGITransport(create_app(store, gateway=gateway))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as client:
        answer = await client.post("/api/backup", json={"path": str(tmp_path / "copy")})
    assert (answer.status_code, answer.json()["code"]) == (503, "closing")
    assert not any("copy" in path.name for path in tmp_path.iterdir())


async def test_what_was_deleted_comes_back_until_it_is_removed_for_good(client: httpx2.AsyncClient) -> None:
    await client.post("/api/sessions", json={"sessionId": "one", "tags": ["t"]})
    await client.post("/api/actions/one", json={"type": "note", "details": {"text": "kite"}, "idempotencyKey": "k"})
    before = (await client.get("/api/sessions/one/log")).text
    unneeded = await client.post("/api/archives/one/restore")
    assert (unneeded.status_code, unneeded.json()["code"]) == (409, "not_deleted")
    assert (await client.delete("/api/sessions/one")).status_code == 200
    assert (await client.post("/api/actions/one", json={"type": "late"})).status_code == 410
    done = await client.post("/api/archives/one/restore")
    assert done.status_code == 200
    after = (await client.get("/api/sessions/one/log")).text
    assert after.startswith(before)
    last = json.loads(after.splitlines()[-1])
    assert (last["type"], last["payload"]) == ("holdfast.session_restored", {"keys": []})
    assert done.json() == {
        "sessionId": "one",
        "events": 4,
        "headHash": last["hash"],
        "keys": [],
        "keysTaken": [],
        "notRestored": [],
    }
    assert (await client.get("/api/archives")).json()["archives"] == []
    again = await client.post(
        "/api/actions/one", json={"type": "note", "details": {"text": "kite"}, "idempotencyKey": "k"}
    )
    assert (again.status_code, again.json()["seq"]) == (200, 2)
    assert [hit["seq"] for hit in (await client.get("/api/query/search?q=kite")).json()["hits"]] == [2]
    await client.delete("/api/sessions/one")
    await client.post("/api/archives/purge", json={"sessions": ["one"]})
    gone = await client.post("/api/archives/one/restore")
    assert (gone.status_code, gone.json()["code"]) == (409, "archive_purged")
    assert (await client.post("/api/archives/nobody/restore")).status_code == 404


async def test_what_was_deleted_is_listed_and_removed_for_good(client: httpx2.AsyncClient) -> None:
    for name in ("one", "two", "kept"):
        assert (await client.post(f"/api/actions/{name}", json={"type": "note"})).status_code == 201
    for name in ("one", "two"):
        assert (await client.delete(f"/api/sessions/{name}", params={"reason": "asked"})).status_code == 200
    first = (await client.get("/api/archives", params={"limit": 1})).json()
    assert [(each["sessionId"], each["events"], each["reason"], each["purgedAt"]) for each in first["archives"]] == [
        ("one", 1, "asked", None)
    ]
    rest = (await client.get("/api/archives", params={"cursor": first["cursor"]})).json()
    assert ([each["sessionId"] for each in rest["archives"]], rest["cursor"]) == (["two"], None)

    planned = await client.post("/api/archives/purge", json={"olderThanMs": 0, "dryRun": True})
    assert [each["sessionId"] for each in planned.json()["purged"]] == ["one", "two"]
    done = (await client.post("/api/archives/purge", json={"sessions": ["one"]})).json()["purged"]
    assert done[0]["purgedAt"] is not None
    done = (await client.post("/api/archives/purge", json={"olderThanMs": 0})).json()["purged"]
    assert [each["sessionId"] for each in done] == ["two"]
    assert (await client.post("/api/archives/purge", json={"olderThanMs": 86_400_000})).json()["purged"] == []

    assert (await client.post("/api/archives/purge", json={"sessions": ["kept"]})).status_code == 404
    assert (await client.get("/api/archives", params={"cursor": "kept"})).status_code == 404
    for body in ({}, {"sessions": ["one"], "olderThanMs": 1}, {"olderThanMs": -1}):
        assert (await client.post("/api/archives/purge", json=body)).status_code == 400
    assert (await client.get("/api/sessions/one")).status_code == 410
