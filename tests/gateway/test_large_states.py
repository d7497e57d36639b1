"""Large states and large lists over the API: what is too large is refused by a typed error, and pages stay small."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from holdfast.core import strict_json
from holdfast.gateway.app import create_app
from holdfast.store import NewEvent, Store, open_store

MB = 1024 * 1024
STATE = "/api/state/s"


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with await open_store(store_url) as opened:
        yield opened


@pytest.fixture
async def client(store: Store) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(store))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", trust_env=False) as made:
        yield made


async def test_a_state_above_the_limit_is_refused_and_says_the_limit(client: httpx2.AsyncClient) -> None:
    refused = await client.patch(STATE, json={"big": "x" * MB})
    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["limit"]) == (413, "too_large", MB)
    assert "null removes a member" in problem["hint"]
    assert (await client.get(STATE)).status_code == 404, "a refusal makes no session"
    assert (await client.patch(STATE, json={"big": "x" * (MB - 100)})).status_code == 200
    assert (await client.patch(STATE, json={"more": "x" * 200})).status_code == 413
    smaller = await client.patch(STATE, json={"big": None, "more": [1, None, {"deep": 2**70}]})
    assert (smaller.json()["version"], smaller.json()["more"]) == (2, [1, None, {"deep": 2**70}])


async def test_a_large_state_is_changed_under_a_condition_and_retried(client: httpx2.AsyncClient) -> None:
    key = {"Idempotency-Key": "k"}
    first = await client.patch(STATE, json={"big": "x" * 500_000, "n": 1}, headers=key)
    tag = (await client.get(STATE)).headers["etag"]
    assert first.headers["etag"] == tag
    assert (await client.patch(STATE, json={"n": 2}, headers={"If-Match": '"other"'})).status_code == 412
    changed = await client.patch(STATE, json={"n": 2}, headers={"If-Match": tag})
    assert (changed.status_code, changed.json()["n"]) == (200, 2)
    assert (await client.patch(STATE, json={"n": 3}, headers={"If-Match": tag})).status_code == 412
    stale = await client.patch(STATE, json={"n": 3, "expectedVersion": 1})
    assert (stale.status_code, stale.json()["state"]["n"]) == (409, 2)
    again = await client.patch(STATE, json={"n": 1, "big": "x" * 500_000}, headers=key)
    assert (again.status_code, again.json()) == (200, first.json())


async def test_many_changes_of_large_states_are_all_made(client: httpx2.AsyncClient) -> None:
    await client.patch(STATE, json={"big": [{"a": n} for n in range(20_000)]})
    changes = await asyncio.gather(*(client.patch(STATE, json={f"n{n}": n}) for n in range(12)))
    assert sorted(answer.json()["version"] for answer in changes) == list(range(2, 14))
    shown = (await client.get(STATE)).json()
    assert {f"n{n}": shown[f"n{n}"] for n in range(12)} == {f"n{n}": n for n in range(12)}


async def test_metadata_above_the_limit_is_refused(client: httpx2.AsyncClient) -> None:
    large = {"text": "x" * 70_000}
    for method, path, body in (
        ("POST", "/api/sessions", {"sessionId": "s", "metadata": large}),
        ("PATCH", "/api/sessions/t/metadata", large),
    ):
        await client.post("/api/actions/t", json={"type": "note"})
        refused = await client.request(method, path, json=body)
        problem = refused.json()
        assert (refused.status_code, problem["code"], problem["limit"]) == (413, "too_large", 65_536)
        assert problem["hint"]


async def old_session(store: Store, session_id: str) -> None:
    """A session of user ada with a megabyte of metadata, as there could be once."""
    await store.sessions.create(session_id, user_id="ada")
    await store.append(session_id, [NewEvent("note", {"text": "findme"})])
    document = strict_json.dump({"metadata": {"text": "x" * MB}})
    await store.sessions.workers.write(
        lambda tx: tx.run("UPDATE sessions SET document = ?2 WHERE session_id = ?1", session_id, document), ("tests",)
    )


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/api/sessions", {}),
        ("/api/sessions/user/ada", {}),
        ("/api/sessions", {"q": "findme"}),
        ("/api/query/recent", {}),
    ],
    ids=["all", "user", "words", "recent"],
)
async def test_a_list_of_sessions_is_bounded_by_bytes(
    client: httpx2.AsyncClient, store: Store, path: str, asked: dict[str, Any]
) -> None:
    names = [f"s{number}" for number in range(10)]
    for name in names:
        await old_session(store, name)
    listed: list[str] = []
    cursor = None
    while True:
        answer = await client.get(path, params={**asked, "limit": 100} | ({"cursor": cursor} if cursor else {}))
        assert answer.status_code == 200
        assert len(answer.content) < 5 * MB
        listed += [row["sessionId"] for row in answer.json()["sessions"]]
        cursor = answer.json()["cursor"]
        if cursor is None:
            break
        path = "/api/sessions" if path == "/api/query/recent" else path
    assert sorted(listed) == names, "each once"


async def test_a_state_shows_the_newest_of_too_many_goals_and_says_how_many_are_left_out(
    client: httpx2.AsyncClient, store: Store
) -> None:
    await client.patch(STATE, json={"n": 1})
    child = strict_json.dump({"description": "x" * 10_000, "priority": "low", "createdAt": 1})
    put = """
        INSERT INTO goals (session_no, goal_id, number, status, document)
        SELECT session_no, ?1, ?2, 'pending', ?3 FROM sessions WHERE session_id = 's'"""
    rows = [(f"g{number:04}", number, child) for number in range(1, 1_501)]
    await store.sessions.workers.write(lambda tx: tx.run_many(put, rows), ("tests",))
    answer = await client.get(STATE)
    shown = answer.json()
    assert len(answer.content) < 5 * MB
    first = 1_501 - len(shown["goals"])
    assert [goal["goalId"] for goal in shown["goals"]] == [f"g{number:04}" for number in range(first, 1_501)]
    assert (shown["goalsOmitted"] + len(shown["goals"]), shown["n"]) == (1_500, 1)
    assert "agentsOmitted" not in shown
    assert (await client.patch(STATE, json={"n": 2}, headers={"If-Match": answer.headers["etag"]})).status_code == 200
    assert len((await client.get("/api/sessions/s")).content) < 5 * MB
