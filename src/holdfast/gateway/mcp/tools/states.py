"""Tools for what a session works on: its state, and its goals."""

from typing import Annotated, Any

from msgspec import Meta

from holdfast.core import statuses
from holdfast.core.errors import InvalidInput
from holdfast.core.statuses import GoalPriority, GoalStatus
from holdfast.gateway.mcp.arguments import ChangeOfSession, Create, OfSession
from holdfast.gateway.mcp.service import RouteRequest, only_given
from holdfast.gateway.mcp.tool import ADDS, READS, REPLACES, McpTool
from holdfast.gateway.mcp.tools.sessions import of
from holdfast.gateway.wire.children import GoalView
from holdfast.gateway.wire.sessions import StateView
from holdfast.gateway.wire.types import Name, Timestamp


class GetState(OfSession, kw_only=True):
    """Whose state."""


class PatchState(ChangeOfSession, kw_only=True):
    """What is to change."""

    patch: Annotated[
        dict[str, Any], Meta(description="objects merge, arrays and scalars replace, null removes a member")
    ]
    expected_version: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="refuse the patch unless the state has this version; the refusal says what it is now"),
    ] = None
    create: Create = False


class AddGoal(ChangeOfSession, kw_only=True):
    """A goal to add."""

    description: Annotated[str, Meta(description="what is to be reached")]
    goal_id: Annotated[Name | None, Meta(description="its id; `goal-001` and so on if there is none")] = None
    status: GoalStatus = statuses.PENDING
    priority: GoalPriority = statuses.MEDIUM
    create: Create = False


class UpdateGoal(ChangeOfSession, kw_only=True):
    """What is to change of a goal."""

    goal_id: Name
    status: GoalStatus | None = None
    description: str | None = None
    priority: GoalPriority | None = None
    completed_at: Timestamp = None


def _get(given: GetState) -> RouteRequest:
    return RouteRequest("GET", of("/api/state/{}", given.session_id))


def _patch(given: PatchState) -> RouteRequest:
    for name in ("sessionId", "expectedVersion"):
        if name in given.patch:
            raise InvalidInput(f"{name} is an argument of its own, not part of the patch", member=name)
    body = given.patch | only_given({"expectedVersion": given.expected_version})
    where = of("/api/state/{}", given.session_id)
    return RouteRequest("PATCH", where, {"create": given.create}, body, given.idempotency_key)


def _add_goal(given: AddGoal) -> RouteRequest:
    body = only_given(
        {
            "description": given.description,
            "goalId": given.goal_id,
            "status": given.status,
            "priority": given.priority,
        }
    )
    where = of("/api/state/{}/goals", given.session_id)
    return RouteRequest("POST", where, {"create": given.create}, body, given.idempotency_key)


def _update_goal(given: UpdateGoal) -> RouteRequest:
    body = only_given(
        {
            "status": given.status,
            "description": given.description,
            "priority": given.priority,
            "completedAt": given.completed_at,
        }
    )
    where = of("/api/state/{}/goals/{}", given.session_id, given.goal_id)
    return RouteRequest("PATCH", where, body=body, key=given.idempotency_key)


TOOLS = (
    McpTool(
        "get_state",
        "Get a session's state",
        "The working document of a session with its version, its goals and its sub-agents.",
        READS,
        GetState,
        StateView,
        _get,
    ),
    McpTool(
        "patch_state",
        "Patch a session's state",
        "Merge a patch into the working document of a session. Give the version that you have read as "
        "`expectedVersion`, so that nobody else's change is overwritten.",
        REPLACES,
        PatchState,
        StateView,
        _patch,
    ),
    McpTool("add_goal", "Add a goal", "Add a goal to a session.", ADDS, AddGoal, GoalView, _add_goal),
    McpTool(
        "update_goal",
        "Update a goal",
        "Change the status, description or priority of a goal.",
        REPLACES,
        UpdateGoal,
        GoalView,
        _update_goal,
    ),
)
