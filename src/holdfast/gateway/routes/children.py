"""Goals and sub-agents of a session: add one, change it, end it."""

from typing import Any

from fastapi import APIRouter
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.ids import check_name
from holdfast.gateway.api.answers import json_answer
from holdfast.gateway.api.body import or_empty, parse_into, read_body
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import Create, IdempotencyKey, TenantStore, key_of, milliseconds, one_of, same_as
from holdfast.gateway.wire.children import AgentEnd, GoalChange, GoalView, NewAgent, NewGoal, SubAgentView, agent, goal
from holdfast.gateway.wire.sessions import StatePatch
from holdfast.store import AgentPatch, ChildrenPatch, GoalPatch, digest_of

_new_goal = parse_into(NewGoal)
_goal_change = parse_into(GoalChange)
_new_agent = parse_into(NewAgent)
_agent_end = or_empty(parse_into(AgentEnd))


def add_routes(routes: APIRouter) -> None:
    """Serve the goals and agents under `/api/state`."""

    @routes.post(
        "/api/state/{session_id}/goals", summary="Add a goal", **described({201: GoalView, 200: GoalView}, body=NewGoal)
    )
    async def add_goal(
        store: TenantStore,
        session_id: str,
        request: Request,
        create: Create = True,
        idempotency_key: IdempotencyKey = None,
    ) -> Response:
        body = await read_body(request, _new_goal)
        made = await store.goals.add(
            session_id,
            body.description,
            goal_id=one_of(body.goal_id, body.id),
            status=body.status,
            priority=body.priority,
            created_at=milliseconds(body.created_at),
            completed_at=milliseconds(body.completed_at),
            idempotency_key=key_of(body.idempotency_key, idempotency_key),
            create=create,
        )
        return json_answer(goal(made), 200 if made.replayed else 201)

    @routes.patch(
        "/api/state/{session_id}/goals/{goal_id}",
        summary="Change a goal's status, description or priority",
        **described({200: GoalView}, body=GoalChange),
    )
    async def update_goal(
        store: TenantStore, session_id: str, goal_id: str, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Response:
        body = await read_body(request, _goal_change)
        changed = await store.goals.update(
            session_id,
            same_as(check_name(goal_id, "a goal's id"), body.goal_id, body.id),
            _given(status=body.status, description=body.description, priority=body.priority),
            completed_at=milliseconds(body.completed_at),
            idempotency_key=key_of(body.idempotency_key, idempotency_key),
        )
        return json_answer(goal(changed))

    @routes.post(
        "/api/state/{session_id}/agents",
        summary="Report a sub-agent",
        **described({201: SubAgentView, 200: SubAgentView}, body=NewAgent),
    )
    async def spawn_agent(
        store: TenantStore,
        session_id: str,
        request: Request,
        create: Create = True,
        idempotency_key: IdempotencyKey = None,
    ) -> Response:
        body = await read_body(request, _new_agent)
        made = await store.agents.spawn(
            session_id,
            body.type,
            body.task,
            agent_id=one_of(body.agent_id, body.id),
            spawned_at=milliseconds(body.spawned_at),
            idempotency_key=key_of(body.idempotency_key, idempotency_key),
            create=create,
        )
        return json_answer(agent(made), 200 if made.replayed else 201)

    @routes.post(
        "/api/state/{session_id}/agents/{agent_id}/complete",
        summary="Report a sub-agent's end",
        **described({200: SubAgentView}, body=AgentEnd, body_required=False),
    )
    async def complete_agent(
        store: TenantStore, session_id: str, agent_id: str, request: Request, idempotency_key: IdempotencyKey = None
    ) -> Response:
        body = await read_body(request, _agent_end)
        ended = await store.agents.complete(
            session_id,
            same_as(check_name(agent_id, "a sub-agent's id"), body.agent_id, body.id),
            body.status,
            body.result,
            completed_at=milliseconds(body.completed_at),
            idempotency_key=key_of(body.idempotency_key, idempotency_key),
        )
        return json_answer(agent(ended))


def children_in_patch(patch: StatePatch, given: Any) -> ChildrenPatch | None:
    """The goals and sub-agents of a patch of the state, which says this of them; None if it has none."""
    if not patch.goals and not patch.agents:
        return None
    goals = [
        GoalPatch(
            one_of(goal.goal_id, goal.id),
            _given(description=goal.description, status=goal.status, priority=goal.priority),
            milliseconds(goal.created_at),
            milliseconds(goal.completed_at),
        )
        for goal in patch.goals
    ]
    agents = [
        AgentPatch(
            one_of(agent.agent_id, agent.id),
            _given(type=agent.type, status=agent.status)
            | {name: value for name, value in (("task", agent.task), ("result", agent.result)) if value is not UNSET},
            milliseconds(agent.spawned_at),
            milliseconds(agent.completed_at),
        )
        for agent in patch.agents
    ]
    return ChildrenPatch(goals, agents, digest_of(given))


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
