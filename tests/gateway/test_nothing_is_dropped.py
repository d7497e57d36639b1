"""Nothing is dropped from a body: what is not known is kept where that has a place, and refused by name elsewhere."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from tests.gateway.test_problems import check
from tests.gateway.test_problems_everywhere import SMALLEST, filled, operations

from holdfast.gateway.agent import Model, start_agent
from holdfast.gateway.app import create_app
from holdfast.store import NewEvent, Store

EXTRA = "descripshun"
SAYING = {"chat", "answer_task"}
"""Routes to the agent."""
FREE = {"patch_metadata", "patch_state", "post_proof"}
"""Bodies whose members are all the caller's own, or are kept whatever they are."""


@pytest.fixture
async def store(store_url: str) -> Any:
    from holdfast.store import open_store

    async with await open_store(store_url) as opened:
        yield opened


async def test_a_member_that_a_body_does_not_have_is_refused_by_name_everywhere(store: Store, tmp_path: Path) -> None:
    agent = await start_agent(store, Model(), workspace=tmp_path, url=None, alone=True)
    app = create_app(store, agent=agent)
    seen = set()
    try:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as client:
            for method, path, entry in operations(app):
                if "application/json" not in entry.get("requestBody", {}).get("content", {}):
                    continue
                name = entry["operationId"]
                body = {"text": "hi"} if name in SAYING else SMALLEST[name]
                if name in FREE:
                    continue
                if name in {"append", "append_response"}:
                    body = {**body, "details": {}}
                wrong: Any = {**body, EXTRA: 1} if isinstance(body, dict) else [{**body[0], "details": {}, EXTRA: 1}]
                answer = await client.request(method, filled(path, "s"), json=wrong)
                problem: Any = check(answer)
                assert (answer.status_code, problem["code"]) == (400, "invalid_input"), path
                assert EXTRA in problem["detail"], path
                assert "did you mean" in problem["hint"], path
                seen.add(name)
    finally:
        await agent.stop(0)
    assert seen == {*SMALLEST, *SAYING} - FREE - {"import_archive"}
    assert (await store.sessions.list()).sessions == [], "a refused body made a session"


async def test_the_nearest_member_is_named(client: httpx2.AsyncClient) -> None:
    cases: list[tuple[str, Any, str]] = [
        ("/api/sessions", {"session_id": "s"}, "sessionId"),
        ("/api/sessions", {"usrId": "ada"}, "userId"),
        ("/api/actions/s", {"type": "x", "details": {}, "timestmp": 1}, "timestamp"),
        ("/api/actions/s/batch", [{"type": "x", "details": {}, "EventID": "e"}], "eventId"),
        ("/api/state/s/goals", {"description": "x", "prio": "high"}, "priority"),
    ]
    for path, body, nearest in cases:
        answer = await client.post(path, json=body)
        assert (answer.status_code, f"did you mean '{nearest}'" in str(check(answer)["hint"])) == (400, True), path
    line = b'{"type":"x"}\n{"type":"y","details":1,"detials":2}\n'
    refused: Any = check(await client.post("/api/actions/s/batch", content=line))
    assert refused["detail"].startswith("line 2:")
    assert "detials" in refused["detail"]


async def test_an_action_or_response_without_details_keeps_its_other_members(client: httpx2.AsyncClient) -> None:
    await client.post("/api/actions/s", json={"type": "test", "data": "Hello"})
    raw = b'{"type":"test","timestamp":"2026-02-13T10:00:00Z","n": 1.10,"big":123456789012345678901234567890}'
    await client.post("/api/actions/s", content=raw)
    await client.post("/api/actions/s/batch", content=b'{"type":"a","x":[ 1 ]}\n{"type":"b"}\n')
    await client.post("/api/actions/s/responses", json={"type": "done", "text": "yes", "idempotencyKey": "r"})
    shown = (await client.get("/api/sessions/s")).text
    assert json.loads(shown)["actions"][0]["details"] == {"data": "Hello"}
    assert '"details":{"n":1.10,"big":123456789012345678901234567890},"timestamp":"2026-02-13T10:00:00.000Z"' in shown
    assert [each["details"] for each in json.loads(shown)["actions"][2:]] == [{"x": [1]}, {}]
    assert json.loads(shown)["responses"][0]["details"] == {"type": "done", "text": "yes"}


async def test_goals_and_agents_in_a_patch_are_goals_and_agents(client: httpx2.AsyncClient, store: Store) -> None:
    goals = [
        {"goalId": "goal-001", "description": "book", "status": "completed", "priority": "high"},
        {"id": "mine", "description": "fly", "createdAt": "2026-02-13T10:00:00Z"},
    ]
    agents = [
        {"agentId": "a", "type": "pilot", "task": {"n": 1}},
        {"id": "b", "type": "cook", "status": "failed", "result": "burnt", "spawnedAt": 5, "completedAt": 7},
    ]
    state = (await client.patch("/api/state/s", json={"phase": "go", "goals": goals, "agents": agents})).json()
    assert [(goal["goalId"], goal["status"], goal["priority"]) for goal in state["goals"]] == [
        ("goal-001", "completed", "high"),
        ("mine", "pending", "medium"),
    ]
    assert state["goals"][1]["createdAt"] == "2026-02-13T10:00:00.000Z"
    assert state["agents"][1] == {
        "agentId": "b",
        "type": "cook",
        "task": None,
        "status": "failed",
        "spawnedAt": "1970-01-01T00:00:00.005Z",
        "completedAt": "1970-01-01T00:00:00.007Z",
        "result": "burnt",
    }
    assert (await store.state.get("s")).document == {"phase": "go"}
    added = (await client.post("/api/state/s/goals", json={"description": "land"})).json()
    assert added["goalId"] == "goal-003"
    changed = await client.patch("/api/state/s/goals/goal-001", json={"status": "failed"})
    assert changed.status_code == 200
    ended = await client.post("/api/state/s/agents/a/complete", json={"result": "there"})
    assert ended.status_code == 200
    now = (await client.get("/api/state/s")).json()
    assert [goal["status"] for goal in now["goals"]] == ["failed", "pending", "pending"]
    events = [event.type.removeprefix("holdfast.") for event in await store.read("s")]
    assert events[:6] == [
        "state_updated",
        "goal_added",
        "goal_added",
        "agent_spawned",
        "agent_spawned",
        "agent_completed",
    ]
    assert (await store.verification.session("s")).problem is None


async def test_a_goal_keeps_both_of_its_times_and_is_changed_by_its_id(client: httpx2.AsyncClient) -> None:
    goal = {"goalId": "g", "description": "x", "status": "completed", "createdAt": 1_000, "completedAt": 2_000}
    made = (await client.patch("/api/state/s", json={"goals": [goal]})).json()["goals"]
    assert (made[0]["createdAt"], made[0]["completedAt"]) == ("1970-01-01T00:00:01.000Z", "1970-01-01T00:00:02.000Z")
    again = (await client.patch("/api/state/s", json={"goals": [{"goalId": "g", "priority": "low"}]})).json()["goals"]
    assert again == [{**made[0], "priority": "low"}]
    head = (await client.get("/api/sessions/s")).json()["metadata"]["headSeq"]
    same = (await client.patch("/api/state/s", json={"goals": again})).json()["goals"]
    assert same == again
    assert (await client.get("/api/sessions/s")).json()["metadata"]["headSeq"] == head + 1, "the patch, and no goal"


async def test_a_patch_with_goals_is_one_write_and_one_retry(client: httpx2.AsyncClient, store: Store) -> None:
    body = {"n": 1, "goals": [{"description": "land"}], "agents": [{"type": "pilot"}]}
    headers = {"Idempotency-Key": "k"}
    sent = await asyncio.gather(*(client.patch("/api/state/s", json=body, headers=headers) for _ in range(4)))
    assert {answer.status_code for answer in sent} == {200}
    state = (await client.get("/api/state/s")).json()
    assert (len(state["goals"]), len(state["agents"]), state["version"]) == (1, 1, 1)
    other = {**body, "goals": [{"description": "crash"}]}
    refused = await client.patch("/api/state/s", json=other, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict")
    for bad in (
        {"n": 2, "goals": [{"goalId": "new"}]},
        {"n": 2, "agents": [{"agentId": state["agents"][0]["agentId"], "type": "cook"}]},
        {"n": 2, "goals": [{"description": "x", "stauts": "failed"}]},
        {"n": 2, "goals": "none"},
        {"n": 2, "goals": None},
    ):
        assert (await client.patch("/api/state/s", json=bad)).status_code in {400, 409}, bad
    assert (await client.get("/api/state/s")).json() == state, "nothing of a refused patch is kept"
    assert (await store.verification.session("s")).problem is None


async def test_a_fork_is_at_the_seq_that_is_named(client: httpx2.AsyncClient, store: Store) -> None:
    await store.append("s", [NewEvent("x", {"n": n}) for n in range(5)])
    for body in ({"seq": 3}, {"at": 3}, {"at": 3, "seq": 3}):
        assert (await client.post("/api/sessions/s/fork", json=body)).json()["forkedFrom"]["seq"] == 3
    refused = await client.post("/api/sessions/s/fork", json={"at": 2, "seq": 3})
    assert refused.status_code == 400


async def test_a_compaction_needs_nothing(client: httpx2.AsyncClient, store: Store) -> None:
    await store.append("s", [NewEvent("step", {"n": n}) for n in range(5)])
    headers = {"Idempotency-Key": "k"}
    made = await client.post("/api/sessions/s/compact", headers=headers)
    assert (made.status_code, made.json()["firstSeq"], made.json()["lastSeq"]) == (201, 1, 5)
    assert made.json()["document"]["messages"] == 5
    assert 'step: {"n":4}' in made.json()["document"]["text"]
    again = await client.post("/api/sessions/s/compact", headers=headers)
    assert (again.status_code, again.json()) == (200, made.json())
    await store.append("s", [NewEvent("step", {"n": 5})])
    more = (await client.post("/api/sessions/s/compact", json={"name": "second"})).json()
    assert (more["lastSeq"], more["document"]["messages"]) == (8, 6)
    part = (await client.post("/api/sessions/s/compact", json={"lastSeq": 3, "firstSeq": 2})).json()
    assert (part["lastSeq"], part["document"]["messages"]) == (3, 2)
    assert (await client.post("/api/sessions/s/compact", json={"summary": "mine"})).json()["document"] == "mine"
    empty = await client.post("/api/sessions", json={"sessionId": "empty"})
    assert empty.status_code == 201
    assert (await store.verification.session("s")).problem is None


async def test_the_document_says_which_bodies_take_other_members(app: FastAPI) -> None:
    schemas = app.openapi()["components"]["schemas"]
    assert schemas["NewGoal"]["additionalProperties"] is False
    action = schemas["NewAction"]
    assert "additionalProperties" not in action
    assert (action["anyOf"][0]["required"], action["anyOf"][0]["additionalProperties"]) == (["details"], False)
