"""Every route fails in the one shape: what cannot be read, what is not there, gone, on its way, or another tenant's.

The routes are those of the OpenAPI document; a new one needs its row here.
"""

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from tests.gateway.test_problems import check

from holdfast.gateway.app import create_app
from holdfast.store import NewEvent, Store

SMALLEST: dict[str, Any] = {
    "append": {"type": "x"},
    "append_batch": [{"type": "x"}],
    "append_response": {},
    "create_session": {},
    "patch_metadata": {"a": 1},
    "finalize_session": {},
    "tag_session": {"add": ["t"]},
    "hold_session": {"held": True},
    "fork_session": {},
    "reset_session": {},
    "branch_checkpoint": {},
    "restore_checkpoint": {},
    "create_checkpoint": {},
    "compact_session": {"summary": "x", "lastSeq": 1},
    "patch_state": {},
    "add_goal": {"description": "x"},
    "update_goal": {"status": "failed"},
    "spawn_agent": {"type": "x"},
    "complete_agent": {},
    "reset_key": {},
    "verify_sessions": {"sessions": ["{session_id}"]},
    "apply_retention": {},
    "post_proof": {"format": 1, "verdict": "proven", "started_at": "2026-01-01T00:00:00Z", "seconds": 1, "proofs": []},
    "create_token": {"name": "x", "scopes": ["read"]},
    "purge_archives": {"olderThanMs": 0},
    "make_backup": {"path": "/"},
    "import_archive": None,
    "put_memory": {"namespace": "n", "key": "k", "value": 1},
    "forget_memory": {"namespace": "n", "key": "k"},
}
"""A body that each route with one understands."""

WAY_BACK = "restore_archive"
"""What is about deleted sessions, and brings them back."""
NAMING = {"export_sessions", "verify_sessions", "search", "follow", "get_tasks"}
"""Routes that name sessions elsewhere than in their path."""


OTHER_PLACES = {"digest": "0" * 64, "seq": "1", "version": "1"}
"""What fits the braces of paths, where not any name does."""


def operations(app: FastAPI) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, entry)
        for path, methods in app.openapi()["paths"].items()
        for method, entry in methods.items()
    ]


def filled(path: str, session_id: str) -> str:
    places = OTHER_PLACES | {"session_id": session_id}
    return re.sub(r"{(\w+)}", lambda found: places.get(found[1], "x"), path)


async def send(
    client: httpx2.AsyncClient, method: str, path: str, entry: dict[str, Any], session_id: str
) -> httpx2.Response:
    """The smallest good request for a session."""
    query = "?create=false"
    names = {each["name"] for each in entry.get("parameters", ()) if each["in"] == "query"}
    query += f"&session={session_id}" if "session" in names else ""
    query += "&q=x" if "q" in names else ""
    body = SMALLEST[entry["operationId"]] if "requestBody" in entry else None
    if entry["operationId"] == "verify_sessions":
        body = {"sessions": [session_id]}
    kwargs = {} if body is None else {"json": body}
    return await client.request(method, filled(path, session_id) + query, **kwargs)


def test_every_body_has_its_row(app: FastAPI) -> None:
    with_body = {entry["operationId"] for _, _, entry in operations(app) if "requestBody" in entry}
    assert with_body == set(SMALLEST)


async def test_a_wrong_method_is_refused_everywhere(client: httpx2.AsyncClient, app: FastAPI) -> None:
    putting = {path for method, path, _ in operations(app) if method == "PUT"}
    for _, path, _ in operations(app):
        wrong = await client.request("OPTIONS" if path in putting else "PUT", filled(path, "s"))
        assert (wrong.status_code, check(wrong)["code"]) == (405, "method_not_allowed")


async def test_what_is_not_json_is_refused_everywhere(client: httpx2.AsyncClient, app: FastAPI) -> None:
    for method, path, entry in operations(app):
        if "application/json" in entry.get("requestBody", {}).get("content", {}):
            for body in (b"{", b'{"a":1,"a":2}', b"\xff", b'{"a":NaN}'):
                bad = await client.request(method, filled(path, "s"), content=body)
                assert (bad.status_code, check(bad)["code"]) == (400, "invalid_json"), path


async def test_a_body_of_another_shape_is_refused_everywhere(client: httpx2.AsyncClient, app: FastAPI) -> None:
    for method, path, entry in operations(app):
        if "application/json" in entry.get("requestBody", {}).get("content", {}):
            bad = await client.request(method, filled(path, "s"), content=b'"text"')
            assert (bad.status_code, check(bad)["code"]) == (400, "invalid_input"), path


async def test_numbers_that_are_none_are_refused_everywhere(client: httpx2.AsyncClient, app: FastAPI) -> None:
    seen = 0
    for method, path, entry in operations(app):
        for each in entry.get("parameters", ()):
            if each["in"] == "query" and each["name"] in {"limit", "after", "before", "days", "create", "expectedSeq"}:
                answer = await client.request(
                    method, f"{filled(path, 's')}?{each['name']}=none&q=x", json=SMALLEST.get(entry["operationId"])
                )
                assert (answer.status_code, check(answer)["code"]) == (400, "invalid_input"), path
                seen += 1
    assert seen > 10


async def test_an_id_that_is_none_is_refused_everywhere(client: httpx2.AsyncClient, app: FastAPI) -> None:
    for method, path, entry in operations(app):
        if "{session_id}" in path or entry["operationId"] in NAMING:
            for bad_id in ("bad id", "a" * 201, "é"):
                answer = await send(client, method, path, entry, bad_id)
                assert (answer.status_code, check(answer)["code"]) == (400, "invalid_input"), path


async def test_an_unknown_session_is_not_found_anywhere(client: httpx2.AsyncClient, app: FastAPI) -> None:
    for method, path, entry in operations(app):
        if "{session_id}" in path or entry["operationId"] in NAMING:
            answer = await send(client, method, path, entry, "none")
            assert (answer.status_code, check(answer)["code"]) == (404, "not_found"), path
    assert (await client.get("/api/sessions")).json()["sessions"] == []


async def test_a_deleted_session_is_gone_everywhere(client: httpx2.AsyncClient, app: FastAPI, store: Store) -> None:
    await store.append("gone", [NewEvent("x", {})])
    assert (await client.delete("/api/sessions/gone")).status_code == 200
    for method, path, entry in operations(app):
        if "{session_id}" in path or entry["operationId"] in NAMING:
            if entry["operationId"] == WAY_BACK:
                continue
            answer = await send(client, method, path, entry, "gone")
            assert (answer.status_code, check(answer)["code"]) == (410, "session_gone"), path
    again = await client.post("/api/sessions", json={"sessionId": "gone"})
    assert (again.status_code, check(again)["code"]) == (410, "session_gone")


@pytest.fixture
async def other(store: Store) -> AsyncIterator[httpx2.AsyncClient]:
    """Another tenant's gateway over the same store."""
    transport = httpx2.ASGITransport(create_app(store.for_tenant("other")))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as made:
        yield made


async def test_another_tenants_things_are_not_there(
    client: httpx2.AsyncClient, other: httpx2.AsyncClient, app: FastAPI, store: Store
) -> None:
    await client.post("/api/sessions", json={"sessionId": "s", "userId": "ada", "tags": ["t"]})
    await client.post("/api/actions/s", json={"type": "x", "details": {"text": "kite"}})
    await client.post("/api/state/s/goals", json={"description": "x"})
    await store.keys.resolve("k", session_id="s")
    before = (await client.get("/api/sessions/s/log")).content
    for method, path, entry in operations(app):
        if "{session_id}" in path or entry["operationId"] in NAMING:
            answer = await send(other, method, path, entry, "s")
            assert (answer.status_code, check(answer)["code"]) == (404, "not_found"), path
    for path in ("/api/sessions", "/api/sessions?q=kite", "/api/sessions?tag=t", "/api/sessions/user/ada"):
        assert (await other.get(path)).json()["sessions"] == []
        assert len((await client.get(path)).json()["sessions"]) == 1
    assert (await other.get("/api/query/search?q=kite")).json()["hits"] == []
    assert (await other.get("/api/query/stats")).json()["sessions"] == 0
    assert (await other.get("/api/keys/k")).status_code == 404
    assert (await other.post("/api/retention", json={"maxSessions": 0})).json()["deleted"] == []
    assert (await other.post("/api/verify")).text.splitlines()[-1] == '{"done":true,"verified":0,"bad":0}'
    assert (await other.post("/api/actions/s", json={"type": "theirs"})).json()["seq"] == 1
    assert (await client.get("/api/sessions/s/log")).content == before


async def test_a_session_that_is_on_its_way_is_not_there_yet(
    client: httpx2.AsyncClient, app: FastAPI, store: Store
) -> None:
    """Between the first step of a fork and its last, every route says so."""
    from holdfast.store.lifecycle import arrivals

    await store.sessions.workers.write(
        lambda tx: arrivals.begin(tx, store.tenant, "coming", "somebody", 1, copied_seq=1),
        (store.sessions.lock("coming"),),
    )
    for method, path, entry in operations(app):
        if "{session_id}" in path or entry["operationId"] in NAMING:
            answer = await send(client, method, path, entry, "coming")
            assert (answer.status_code, check(answer)["code"]) == (409, "session_arriving"), path
