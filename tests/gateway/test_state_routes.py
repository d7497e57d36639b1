"""State over HTTP: patches merge, the version counts them, a stale patch is refused with the current state."""

import httpx2

from holdfast.store import Store

NONE: dict[str, list[str]] = {"goals": [], "agents": []}


async def test_objects_merge_arrays_and_scalars_replace_null_removes(client: httpx2.AsyncClient) -> None:
    await client.patch("/api/state/s", json={"a": {"b": 1, "c": 2}, "list": [1, 2], "gone": True})
    patch = {"a": {"b": "+5"}, "list": [3], "gone": None}
    after = await client.patch("/api/state/s", json=patch)
    expected = {"a": {"b": "+5", "c": 2}, "list": [3], **NONE, "sessionId": "s", "version": 2}
    assert (after.status_code, after.json()) == (200, expected)
    assert (await client.get("/api/state/s")).json() == expected


async def test_a_stale_patch_is_refused_with_the_current_state(client: httpx2.AsyncClient) -> None:
    await client.patch("/api/state/s", json={"phase": "one", "expectedVersion": 0})
    refused = await client.patch("/api/state/s", json={"phase": "two", "expectedVersion": 0})
    assert (refused.status_code, refused.json()["code"]) == (409, "stale_state")
    assert refused.json()["state"] == {"phase": "one", **NONE, "sessionId": "s", "version": 1}
    assert refused.json()["version"] == 1
    retried = await client.patch("/api/state/s", json={"phase": "two", "expectedVersion": 1})
    assert retried.json() == {"phase": "two", **NONE, "sessionId": "s", "version": 2}


async def test_a_retry_under_one_key_patches_once(client: httpx2.AsyncClient) -> None:
    headers = {"Idempotency-Key": "k"}
    first = await client.patch("/api/state/s", json={"n": 1, "expectedVersion": 0}, headers=headers)
    await client.patch("/api/state/s", json={"n": 2})
    again = await client.patch("/api/state/s", json={"n": 1, "expectedVersion": 0}, headers=headers)
    assert again.json() == first.json()
    assert (await client.get("/api/state/s")).json()["n"] == 2


async def test_what_was_read_can_be_sent_back(client: httpx2.AsyncClient) -> None:
    state = (await client.patch("/api/state/s", json={"n": 1})).json()
    sent = await client.patch("/api/state/s", json={**state, "n": 2})
    assert sent.json() == {"n": 2, **NONE, "sessionId": "s", "version": 2}
    misdirected = await client.patch("/api/state/other", json=state)
    assert misdirected.status_code == 400


async def test_goals_and_agents_that_come_back_are_not_taken_for_the_documents(
    client: httpx2.AsyncClient, store: Store
) -> None:
    await client.post("/api/state/s/goals", json={"description": "land"})
    await client.post("/api/state/s/agents", json={"type": "pilot", "agentId": "a", "task": {"n": 1}})
    state = (await client.get("/api/state/s")).json()
    assert [goal["goalId"] for goal in state["goals"]] == ["goal-001"]
    sent = (await client.patch("/api/state/s", json={**state, "phase": "air"})).json()
    assert sent == {**state, "phase": "air", "version": 1}
    assert (await store.state.get("s")).document == {"phase": "air"}
    await client.patch("/api/state/s/goals/goal-001", json={"status": "completed"})
    now = (await client.get("/api/state/s")).json()
    assert (now["goals"][0]["status"], now["agents"]) == ("completed", state["agents"])


async def test_goals_that_older_gateways_kept_in_the_document_do_not_disappear(
    client: httpx2.AsyncClient, store: Store
) -> None:
    kept = [{"goalId": f"goal-00{n}", "description": "theirs", "status": "completed"} for n in (1, 2)]
    await store.state.patch("s", {"goals": kept})
    assert (await client.get("/api/state/s")).json()["goals"] == kept
    made = (await client.post("/api/state/s/goals", json={"description": "ours", "goalId": "goal-001"})).json()
    assert (await client.get("/api/sessions/s")).json()["state"]["goals"] == [made, kept[1]]
    state = (await client.get("/api/state/s")).json()
    after = (await client.patch("/api/state/s", json=state)).json()
    assert [(goal["goalId"], goal["status"]) for goal in after["goals"]] == [
        ("goal-001", "pending"),
        ("goal-002", "completed"),
    ]
    done = await client.patch("/api/state/s/goals/goal-002", json={"status": "failed"})
    assert (await client.get("/api/state/s")).json()["goals"] == [made, done.json()]


async def test_create_false_refuses_an_unknown_session(client: httpx2.AsyncClient) -> None:
    assert (await client.patch("/api/state/s?create=false", json={"n": 1})).status_code == 404


async def test_a_patch_is_an_object(client: httpx2.AsyncClient) -> None:
    for body in (b"[]", b'"x"', b"{", b'{"a":1,"a":2}', b'{"expectedVersion":"1"}', b'{"expectedVersion":-1}'):
        assert (await client.patch("/api/state/s", content=body)).status_code == 400
