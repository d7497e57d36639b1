"""The dictionary style of existing programs, with a loop and without, against a real gateway."""

from pathlib import Path
from typing import Any

import pytest
from tests.client.looking import ask
from tests.gateway.process import Running

from holdfast.client import HookAgent, HookAgentBlocking
from holdfast.core.errors import InvalidInput

GOAL = {
    "goalId": "goal-001",
    "description": "book",
    "status": "completed",
    "priority": "high",
    "createdAt": "2026-02-13T10:00:00Z",
    "completedAt": "2026-02-13T11:00:00Z",
}


def look(url: str, session_id: str, first: str) -> None:
    found = ask(url, f"/api/sessions/{session_id}")
    assert [(each["type"], each["details"]) for each in found["actions"]] == [
        ("team_spawn", {"team": "a"}),
        ("test", {"data": "Hello"}),
        ("bare", {}),
    ]
    assert (found["actions"][0]["timestamp"], found["actions"][0]["eventId"]) == ("2026-02-13T10:00:00.000Z", first)
    assert [each["details"] for each in found["responses"]] == [{"text": "done"}, {"text": "it", "type": "final"}]
    assert found["responses"][0]["parentId"] == first
    (goal, other) = found["state"]["goals"]
    assert goal == {**GOAL, "createdAt": "2026-02-13T10:00:00.000Z", "completedAt": "2026-02-13T11:00:00.000Z"}
    assert (other["goalId"], other["status"]) == ("mine", "pending")
    (agent,) = found["state"]["agents"]
    assert (agent["agentId"], agent["type"], agent["task"]) == ("p1", "pilot", {"seat": 1})
    assert agent["spawnedAt"] == "1970-01-01T00:00:05.000Z"


async def test_with_a_loop(gateway: Running, spool: Path) -> None:
    async with HookAgent("dicts-async", url=gateway.url) as agent:
        action = {"type": "team_spawn", "timestamp": "2026-02-13T10:00:00Z", "details": {"team": "a"}, "eventId": "e1"}
        first = await agent.log_action(action)
        await agent.log_action({"type": "test", "data": "Hello"})
        await agent.log_action({"type": "bare"})
        await agent.log_response({"details": {"text": "done"}, "parentId": first})
        await agent.log_response({"text": "it", "type": "final"})
        assert await agent.add_goal(GOAL) == "goal-001"
        assert await agent.add_goal({"id": "mine", "description": "fly"}) == "mine"
        assert (
            await agent.spawn_agent({"agentId": "p1", "type": "pilot", "task": {"seat": 1}, "spawnedAt": 5000}) == "p1"
        )
        await agent.flush()
    look(gateway.url, "dicts-async", first)


def test_without_a_loop(gateway: Running, spool: Path) -> None:
    with HookAgentBlocking("dicts", url=gateway.url) as agent:
        action = {"type": "team_spawn", "timestamp": "2026-02-13T10:00:00Z", "details": {"team": "a"}, "eventId": "e1"}
        first = agent.log_action(action)
        agent.log_action({"type": "test", "data": "Hello"})
        agent.log_action({"type": "bare"})
        agent.log_response({"details": {"text": "done"}, "parentId": first})
        agent.log_response({"text": "it", "type": "final"})
        assert agent.add_goal(GOAL) == "goal-001"
        assert agent.add_goal({"id": "mine", "description": "fly"}) == "mine"
        assert agent.spawn_agent({"agentId": "p1", "type": "pilot", "task": {"seat": 1}, "spawnedAt": 5000}) == "p1"
        agent.flush()
    look(gateway.url, "dicts", first)


@pytest.mark.parametrize(
    ("method", "given", "hint"),
    [
        ("log_action", {"type": "x", "details": {}, "timestmp": 1}, "timestamp"),
        ("log_action", {"details": {}}, "type"),
        ("add_goal", {"description": "x", "prio": "high"}, "priority"),
        ("add_goal", {"goalId": "g"}, None),
        ("add_goal", {"description": "x", "goalId": "g", "id": "h"}, None),
        ("spawn_agent", {"type": "x", "tsk": 1}, "task"),
    ],
)
def test_what_a_call_does_not_know_is_refused_by_name(
    gateway: Running, spool: Path, method: str, given: Any, hint: str | None
) -> None:
    with HookAgentBlocking("refused-dicts", url=gateway.url) as agent:
        with pytest.raises(InvalidInput) as refused:
            getattr(agent, method)(given)
        assert hint is None or hint in (refused.value.hint or "")
        with pytest.raises(InvalidInput):
            agent.log_action({"type": "x"}, {"more": 1})
        assert agent.spooled == 0
