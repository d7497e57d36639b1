"""Goals and sub-agents over HTTP: added, changed and ended once, shown in the state."""

import re
from typing import Any

import httpx2
import pytest

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def test_a_goal_is_added_and_reached(client: httpx2.AsyncClient) -> None:
    made = await client.post("/api/state/s/goals", json={"description": "Process the mails"})
    assert made.status_code == 201
    goal = made.json()
    assert TIME.fullmatch(goal.pop("createdAt"))
    assert goal == {
        "goalId": "goal-001",
        "description": "Process the mails",
        "status": "pending",
        "priority": "medium",
    }
    done = await client.patch("/api/state/s/goals/goal-001", json={"status": "completed", "priority": "high"})
    assert (done.status_code, done.json()["status"], done.json()["priority"]) == (200, "completed", "high")
    assert TIME.fullmatch(done.json()["completedAt"])
    assert (await client.get("/api/state/s")).json()["goals"] == [done.json()]
    assert (await client.get("/api/sessions/s")).json()["state"]["goals"] == [done.json()]


async def test_goals_are_numbered_or_named(client: httpx2.AsyncClient) -> None:
    sent: list[dict[str, Any]] = [
        {"description": "a"},
        {"description": "b", "id": "mine"},
        {"description": "c", "goalId": "ours", "id": "ours"},
        {"description": "d"},
    ]
    made = [(await client.post("/api/state/s/goals", json=body)).json()["goalId"] for body in sent]
    assert made == ["goal-001", "mine", "ours", "goal-004"]
    other = await client.post("/api/state/s/goals", json={"description": "x", "id": "mine"})
    assert (other.status_code, other.json()["code"]) == (409, "conflict")


@pytest.mark.parametrize("by_header", [True, False])
async def test_a_retry_adds_no_second_goal(client: httpx2.AsyncClient, by_header: bool) -> None:
    headers = {"Idempotency-Key": "k"} if by_header else {}
    body = {"description": "once"} if by_header else {"description": "once", "idempotencyKey": "k"}
    first, again = [await client.post("/api/state/s/goals", json=body, headers=headers) for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert len((await client.get("/api/state/s")).json()["goals"]) == 1
    other = await client.post("/api/state/s/goals", json={**body, "description": "twice"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")


async def test_a_sub_agent_works_and_ends(client: httpx2.AsyncClient) -> None:
    body = {"type": "booking", "task": {"mail": 2**70}, "agentId": "a1"}
    made = await client.post("/api/state/s/agents", json=body)
    assert (made.status_code, made.json()["status"], made.json()["task"]) == (201, "active", {"mail": 2**70})
    assert "completedAt" not in made.json()
    again = await client.post("/api/state/s/agents", json=body)
    assert (again.status_code, again.json()) == (200, made.json())
    ended = await client.post("/api/state/s/agents/a1/complete", json={"status": "failed", "result": {"why": "rain"}})
    assert (ended.status_code, ended.json()["status"], ended.json()["result"]) == (200, "failed", {"why": "rain"})
    assert TIME.fullmatch(ended.json()["completedAt"])
    assert (await client.get("/api/state/s")).json()["agents"] == [ended.json()]
    again = await client.post("/api/state/s/agents/a1/complete", json={"status": "failed", "result": {"why": "rain"}})
    assert again.json() == ended.json()
    other = await client.post("/api/state/s/agents/a1/complete")
    assert (other.status_code, other.json()["code"]) == (409, "conflict")


async def test_a_retry_spawns_no_second_agent(client: httpx2.AsyncClient) -> None:
    made = [
        (await client.post("/api/state/s/agents", json={"type": "x"}, headers={"Idempotency-Key": "k"})).json()
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert (await client.post(f"/api/state/s/agents/{made[0]['agentId']}/complete")).json()["status"] == "completed"
    assert len((await client.get("/api/state/s")).json()["agents"]) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("goals", {}),
        ("goals", {"description": 1}),
        ("goals", {"description": "x", "status": "sleeping"}),
        ("goals", {"description": "x", "priority": "urgent"}),
        ("goals", {"description": "x", "id": "a", "goalId": "b"}),
        ("goals", {"description": "x", "goalId": "a\0b"}),
        ("goals", {"description": "x", "idempotencyKey": "holdfast.session_created"}),
        ("agents", {}),
        ("agents", {"type": ""}),
        ("agents/a/complete", {"status": "active"}),
        ("agents/a%00b/complete", {}),
    ],
)
async def test_what_does_not_fit_is_refused(client: httpx2.AsyncClient, path: str, body: dict[str, Any]) -> None:
    await client.post("/api/actions/s", json={"type": "x"})
    refused = await client.post(f"/api/state/s/{path}", json=body)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    assert (await client.get("/api/sessions/s")).json()["metadata"]["headSeq"] == 1


async def test_a_change_needs_something_to_change(client: httpx2.AsyncClient) -> None:
    await client.post("/api/state/s/goals", json={"description": "x"})
    assert (await client.patch("/api/state/s/goals/goal-001", json={"id": "y"})).status_code == 400
    assert (await client.patch("/api/state/s/goals/none", json={"status": "failed"})).status_code == 404
    assert (await client.post("/api/state/s/agents/none/complete")).status_code == 404


async def test_create_false_refuses_an_unknown_session(client: httpx2.AsyncClient) -> None:
    assert (await client.post("/api/state/s/goals?create=false", json={"description": "x"})).status_code == 404
    assert (await client.post("/api/state/s/agents?create=false", json={"type": "x"})).status_code == 404
    assert (await client.get("/api/state/s")).status_code == 404
