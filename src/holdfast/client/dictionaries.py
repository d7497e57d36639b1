"""The dictionary style of existing programs: one mapping in place of the arguments of a call.

Nothing of a mapping is dropped: members that a call does not know are an action's details where it has none, and are
refused by name elsewhere.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from holdfast.core.errors import InvalidInput
from holdfast.core.nearest import did_you_mean

EVENT = {"timestamp": "timestamp", "parentId": "parent_id", "eventId": "event_id", "idempotencyKey": "idempotency_key"}
GOAL = {
    "description": "description",
    "goalId": "goal_id",
    "id": "goal_id",
    "status": "status",
    "priority": "priority",
    "createdAt": "created_at",
    "completedAt": "completed_at",
}
AGENT = {"type": "type", "task": "task", "agentId": "agent_id", "id": "agent_id", "spawnedAt": "spawned_at"}


class EventFields(NamedTuple):
    """What an action or a response says."""

    type: Any
    details: Any
    named: dict[str, Any]
    """Its time, parent, event id and idempotency key, those that are given."""


def action_in(given: Mapping[str, Any]) -> EventFields:
    """The action that a mapping is; without `details`, all its other members are the details."""
    known = {"type": "type", "details": "details", **EVENT}
    others = {name: value for name, value in given.items() if name not in known}
    if "type" not in given:
        raise InvalidInput("an action has a type", hint='for example {"type": "note", "details": {}}')
    if "details" in given and others:
        raise _unknown(next(iter(others)), "an action with details", known)
    return EventFields(given["type"], given.get("details", others), _named(given, EVENT))


def response_in(given: Any) -> EventFields:
    """The response that a value is: itself the details, unless it is a mapping with `details` and a response's own."""
    if isinstance(given, Mapping) and "details" in given and given.keys() <= {"details", *EVENT}:
        return EventFields(None, given["details"], _named(given, EVENT))
    return EventFields(None, given, {})


def goal_in(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a goal that a mapping is."""
    return _arguments(given, "a goal", GOAL, "description")


def agent_in(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a sub-agent that a mapping is."""
    return _arguments(given, "a sub-agent", AGENT, "type")


def _arguments(given: Mapping[str, Any], what: str, known: Mapping[str, str], needed: str) -> dict[str, Any]:
    for name in given:
        if name not in known:
            raise _unknown(name, what, known)
    found = _named(given, known)
    if needed not in found:
        raise InvalidInput(f"{what} has a {needed}")
    return found


def _named(given: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, argument in known.items():
        value = given.get(name)
        if value is not None and found.setdefault(argument, value) != value:
            raise InvalidInput(f"two names for one thing: {found[argument]!r:.80}, {value!r:.80}")
    return found


def _unknown(name: Any, what: str, known: Mapping[str, str]) -> InvalidInput:
    return InvalidInput(f"{what} has no member {name!r:.200}", hint=did_you_mean(str(name), known))
