"""Sessions over HTTP: described once, looked at whole, listed in pages that a deletion or a write cannot break."""

import asyncio

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


async def test_a_description_fills_in_what_is_missing(client: httpx2.AsyncClient) -> None:
    await client.post("/api/actions/test-1", json={"type": "x"})
    await client.patch("/api/sessions/test-1/metadata", json={"team": "red", "pilot": "eve"})
    await client.post("/api/sessions/test-1/tags", json={"add": ["early"]})
    for _ in range(2):
        assert (await client.post("/api/sessions", json=DESCRIPTION)).status_code == 200
    shown = (await client.get("/api/sessions/test-1")).json()
    assert shown["metadata"]["metadata"] == {"team": "red", "pilot": "eve", "status": "theirs"}
    assert (shown["metadata"]["tags"], shown["metadata"]["userId"]) == (["early", "t"], "ada")
    assert shown["initial"] == DESCRIPTION["initial"]
    reset = (await client.post("/api/sessions/test-1/reset", json={"sessionId": "test-2"})).json()
    assert (await client.post("/api/sessions", json={"sessionId": reset["sessionId"]})).status_code == 200
    assert (await client.get("/api/sessions/test-2")).json()["metadata"]["userId"] == "ada"


async def test_a_description_without_an_agent_leaves_the_one_that_is_there(
    client: httpx2.AsyncClient, store: Store
) -> None:
    await store.keys.resolve("k", session_id="test-1", agent="pilot")
    for _ in range(2):
        assert (await client.post("/api/sessions", json=DESCRIPTION)).status_code == 200
    shown = (await client.get("/api/sessions/test-1")).json()["metadata"]
    assert (shown["agent"], shown["userId"]) == ("pilot", "ada")


async def test_a_session_is_shown_as_of_one_moment(client: httpx2.AsyncClient, store: Store) -> None:
    """While a writer moves state and log together, no view shows the one without the other."""
    stop = asyncio.Event()

    async def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            await store.append("s", [NewEvent("n", {"n": number})])
            await store.state.patch("s", {"n": number})
            await store.goals.add("s", f"goal {number}")

    await store.append("s", [NewEvent("n", {"n": 0})])
    writing = asyncio.create_task(write())
    try:
        for _ in range(60):
            shown = (await client.get("/api/sessions/s?limit=5")).json()
            head, version = shown["cursor"]["after"], shown["state"]["version"]
            assert shown["metadata"]["headSeq"] == head
            assert (head - 1) // 3 == len(shown["state"]["goals"])
            assert head // 3 == version
            assert shown["actions"][-1]["seq"] == 3 * ((head + 1) // 3) - 1 if head > 1 else 1
    finally:
        stop.set()
        await writing


async def test_a_window_goes_back_through_the_stores_own_events(client: httpx2.AsyncClient, store: Store) -> None:
    await store.append("s", [NewEvent("old", {})])
    for number in range(30):
        await store.state.patch("s", {"n": number})
    shown = (await client.get("/api/sessions/s?limit=2")).json()
    assert [entry["type"] for entry in shown["actions"]] == ["old"]
    assert shown["cursor"] == {"before": None, "after": 31}


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
    own = {"phase": "ready", "huge": 2**80, "goals": [], "agents": []}
    assert shown["state"] == {**own, "sessionId": "test-1", "version": 1}
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


async def test_the_list_can_be_narrowed(client: httpx2.AsyncClient, store: Store) -> None:
    for number, user in enumerate(("ada", "eve", "ada")):
        await client.post("/api/sessions", json={"sessionId": f"s{number}", "userId": user, "tags": [f"t{number % 2}"]})
    await client.post("/api/sessions/s2/finalize", json={"status": "failed"})
    middle = (await client.get("/api/sessions/s1")).json()["metadata"]["createdAt"]

    async def found(query: str) -> list[str]:
        answer = await client.get(f"/api/sessions?{query}")
        assert answer.status_code == 200, answer.text
        return [row["sessionId"] for row in answer.json()["sessions"]]

    assert await found("tag=t0") == ["s2", "s0"]
    assert await found("tag=t0&status=active") == ["s0"]
    assert await found("status=failed&user=ada") == ["s2"]
    assert set(await found(f"from={middle}")) >= {"s1", "s2"}
    assert "s1" not in await found(f"to={middle}")
    assert await found("from=2100-01-01T00:00:00Z") == []
    assert await found("to=0") == []
    assert await found("tag=none&cursor=") == []
    for query in ("status=sleeping", "from=yesterday", "tag=" + "x" * 600, "user=%00"):
        assert (await client.get(f"/api/sessions?{query}")).status_code == 400
    row = (await client.get("/api/sessions?tag=t1")).json()["sessions"][0]
    assert (row["held"], row["sizeBytes"] > 0, row["lineage"]) == (False, True, {})


async def test_the_list_by_words_names_each_session_once_and_pages(client: httpx2.AsyncClient, store: Store) -> None:
    for number in range(6):
        await store.append(f"s{number}", [NewEvent("n", {"text": "kite"}), NewEvent("n", {"text": "kite again"})])
        await store.append("often", [NewEvent("n", {"text": f"kite {number}"})])
        await store.append("never", [NewEvent("n", {"text": "stone"})])
    await client.post("/api/sessions/s3/tags", json={"add": ["x"]})
    seen: list[str] = []
    query = "q=kite&limit=2"
    while query:
        page = (await client.get(f"/api/sessions?{query}")).json()
        assert len(page["sessions"]) <= 2
        seen += [row["sessionId"] for row in page["sessions"]]
        query = f"q=kite&limit=2&cursor={page['cursor']}" if page["cursor"] else ""
    assert seen == ["often", "s5", "s4", "s3", "s2", "s1", "s0"]
    assert [row["sessionId"] for row in (await client.get("/api/sessions?q=kite&tag=x")).json()["sessions"]] == ["s3"]
    await client.delete("/api/sessions/s3")
    assert (await client.get("/api/sessions?q=kite&tag=x")).json()["sessions"] == []


async def test_a_users_sessions_have_a_path(client: httpx2.AsyncClient) -> None:
    for user in ("ada", "a/b", "ada"):
        await client.post("/api/sessions", json={"userId": user})
    assert len((await client.get("/api/sessions/user/ada?limit=1")).json()["sessions"]) == 1
    assert [row["userId"] for row in (await client.get("/api/sessions/user/a%2Fb")).json()["sessions"]] == ["a/b"]
    assert (await client.get("/api/sessions/user/nobody")).json() == {"sessions": [], "cursor": None}


async def test_a_session_called_user_is_not_hidden(client: httpx2.AsyncClient) -> None:
    await client.post("/api/actions/user", json={"type": "x"})
    assert (await client.get("/api/sessions/user/resume")).json()["session"]["sessionId"] == "user"
    assert (await client.get("/api/sessions/user/checkpoints")).json() == {"checkpoints": []}
    assert (await client.get("/api/sessions/user/log")).text.startswith('{"seq":1,')


async def test_a_bad_cursor_is_refused(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/api/sessions?cursor=x")).status_code == 400


async def test_the_routes_of_a_key_come_in_pages(client: httpx2.AsyncClient, store: Store) -> None:
    ids = [(await store.keys.open("k")).session_id]
    ids += [(await store.keys.reset("k")).session_id for _ in range(60)]
    first = (await client.get("/api/keys/k")).json()
    assert [route["sessionId"] for route in first["routes"]] == ids[-50:]
    assert first["sessionId"] == ids[-1]
    second = (await client.get("/api/keys/k", params={"cursor": first["cursor"]})).json()
    assert ([route["sessionId"] for route in second["routes"]], second["cursor"]) == (ids[:11], None)
    await store.deletion.delete(ids[-1])
    gone = (await client.get("/api/keys/k", params={"limit": 1})).json()
    assert (gone["sessionId"], gone["routes"][0]["sessionId"]) == (None, ids[-1])
    assert gone["createdAt"] == second["routes"][0]["startedAt"] < gone["updatedAt"]
    wrong = await client.get("/api/keys/k", params={"cursor": "nowhere"})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_input")


async def test_a_resume_says_how_many_goals_it_leaves_out(client: httpx2.AsyncClient) -> None:
    for first in (0, 500):
        some = [{"description": f"d{n}"} for n in range(first, first + 500)]
        assert (await client.patch("/api/state/s", json={"goals": some})).status_code == 200
    await client.patch("/api/state/s", json={"goals": [{"description": f"d{n}"} for n in range(1_000, 1_003)]})
    found = (await client.get("/api/sessions/s/resume")).json()
    shown = [goal["description"] for goal in found["goals"]]
    assert (shown, found["goalsOmitted"]) == ([f"d{n}" for n in range(3, 1_003)], 3)
    assert ("agentsOmitted" in found, found["state"]["goalsOmitted"]) == (False, 3)
