"""Sessions over HTTP: described once, looked at whole, listed in pages that a deletion or a write cannot break."""

import httpx2

from holdfast.store import NewEvent, Store

DESCRIPTION = {
    "sessionId": "test-1",
    "userId": "ada",
    "initial": {"source": "cli", "input": "hello", "config": {"n": 1.0}},
    "tags": ["t"],
    "metadata": {"team": "blue", "status": "theirs"},
}


async def test_the_same_description_again_changes_nothing(client: httpx2.AsyncClient) -> None:
    first = await client.post("/api/sessions", json=DESCRIPTION)
    assert (first.status_code, first.json()) == (201, {"success": True, "sessionId": "test-1"})
    assert first.headers["location"] == "/api/sessions/test-1"
    assert (await client.post("/api/sessions", json=DESCRIPTION)).status_code == 200
    other = await client.post("/api/sessions", json={**DESCRIPTION, "userId": "eve"})
    assert (other.status_code, other.json()["code"]) == (409, "conflict")


async def test_a_session_that_began_with_an_action_is_described_later(client: httpx2.AsyncClient) -> None:
    await client.post("/api/actions/test-1", json={"type": "x"})
    assert (await client.post("/api/sessions", json=DESCRIPTION)).status_code == 200
    assert (await client.get("/api/sessions/test-1")).json()["metadata"]["userId"] == "ada"


async def test_a_session_without_an_id_gets_one_and_a_retry_no_second(client: httpx2.AsyncClient) -> None:
    plain = [(await client.post("/api/sessions", json={})).json()["sessionId"] for _ in range(2)]
    keyed = [
        (await client.post("/api/sessions", json={}, headers={"Idempotency-Key": "k"})).json()["sessionId"]
        for _ in range(2)
    ]
    assert plain[0] != plain[1]
    assert keyed[0] == keyed[1]


async def test_a_session_is_shown_whole(client: httpx2.AsyncClient) -> None:
    await client.post("/api/sessions", json=DESCRIPTION)
    await client.patch("/api/state/test-1", json={"phase": "ready", "huge": 2**80})
    for number in range(5):
        await client.post("/api/actions/test-1", json={"type": "n", "details": {"n": number}})
    shown = (await client.get("/api/sessions/test-1?limit=3")).json()
    assert set(shown) == {"metadata", "initial", "state", "actions", "responses", "final", "cursor"}
    assert shown["initial"] == DESCRIPTION["initial"]
    assert shown["state"] == {"phase": "ready", "huge": 2**80, "sessionId": "test-1", "version": 1}
    assert [action["details"]["n"] for action in shown["actions"]] == [2, 3, 4]
    assert shown["cursor"] == {"before": 5, "after": 7}
    assert (shown["responses"], shown["final"]) == ([], None)
    metadata = shown["metadata"]
    assert (metadata["sessionId"], metadata["team"], metadata["status"]) == ("test-1", "blue", "active")
    assert (metadata["headSeq"], metadata["tags"]) == (7, ["t"])
    assert metadata["metadata"] == DESCRIPTION["metadata"]


async def test_an_unknown_session_is_not_found(client: httpx2.AsyncClient) -> None:
    for path in ("/api/sessions/none", "/api/actions/none", "/api/state/none"):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert answer.json()["sessionId"] == "none"


async def test_the_list_is_paged_newest_first(client: httpx2.AsyncClient, store: Store) -> None:
    for number in range(7):
        await store.append(f"s{number}", [NewEvent("x", {})])
    seen: list[str] = []
    query = "limit=3"
    while query:
        page = (await client.get(f"/api/sessions?{query}")).json()
        seen += [row["sessionId"] for row in page["sessions"]]
        query = f"limit=3&cursor={page['cursor']}" if page["cursor"] else ""
    assert seen == [f"s{number}" for number in reversed(range(7))]


async def test_the_list_can_be_one_users(client: httpx2.AsyncClient) -> None:
    for user in ("ada", "eve", "ada"):
        await client.post("/api/sessions", json={"userId": user})
    found = (await client.get("/api/sessions?user=ada")).json()["sessions"]
    assert [row["userId"] for row in found] == ["ada", "ada"]
    assert len((await client.get("/api/sessions?user=")).json()["sessions"]) == 3


async def test_a_bad_cursor_is_refused(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/api/sessions?cursor=x")).status_code == 400
