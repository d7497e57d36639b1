"""An entry: one call of the program, as it is spooled and as it is sent.

Everything that makes a call what it is, its key, its event id and its time among them, is decided when the program
makes it. So an entry can be sent as often as need be, by whichever process, and is written once.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct

from holdfast.core import strict_json, types
from holdfast.core.errors import InvalidInput, TooLarge
from holdfast.core.ids import check_name
from holdfast.core.statuses import AGENT_ENDS, GOAL_PRIORITIES, GOAL_STATUSES

MAX_BODY = 16 * 1024 * 1024
"""What a gateway takes in one request."""
NOT_STATE = ("sessionId", "version", "expectedVersion")
"""Members of a patch that the service takes for something else, or for nothing."""
LAST_MS = 253_402_300_799_999
"""The end of the year 9999."""


class SpoolEntry(Struct, omit_defaults=True):
    """A request that is still to be acknowledged."""

    key: str
    method: str
    path: str
    proof: str
    """The member of an answer without which it is no acknowledgement."""
    body: Raw
    joins: bool = False
    """Whether it can be sent in one request with its neighbours on the same path, one line each."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(SpoolEntry).decode


def to_line(entry: SpoolEntry) -> bytes:
    """The entry as a line of a spool."""
    return _encode(entry) + b"\n"


def from_line(line: bytes) -> SpoolEntry | None:
    """The entry that a line is; None if it is none."""
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def appended(
    session_id: str,
    key: str,
    type: str,
    details: Any,
    *,
    timestamp: int,
    parent_id: str | None = None,
    event_id: str | None = None,
    idempotency_key: str | None = None,
) -> SpoolEntry:
    """An action, or a response: its key is its event id too, and its idempotency key, unless others are given."""
    check_name(type, "an action's type")
    if type.startswith(types.PREFIX) and type != types.RESPONSE:
        raise InvalidInput(f"action types that start with {types.PREFIX!r} are Holdfast's own")
    if not 0 <= timestamp <= LAST_MS:
        raise InvalidInput(f"a timestamp is milliseconds from 1970 to 9999, not {timestamp}")
    body: dict[str, Any] = {"type": type, "details": {} if details is None else details, "timestamp": timestamp}
    body |= {"eventId": event_id or key, "idempotencyKey": idempotency_key or event_id or key}
    check_name(body["eventId"], "an event id")
    if check_name(body["idempotencyKey"], "an idempotency key").startswith(types.PREFIX):
        raise InvalidInput(f"idempotency keys that start with {types.PREFIX!r} are Holdfast's own")
    if parent_id is not None:
        body["parentId"] = check_name(parent_id, "a parent id")
    return SpoolEntry(key, "POST", f"/api/actions/{session_id}/batch", "seqs", _body(body), joins=True)


def described(
    session_id: str,
    key: str,
    *,
    user_id: str | None,
    agent: str | None,
    initial: Any,
    tags: Sequence[str],
    metadata: Mapping[str, Any] | None,
    parent_session: str | None,
) -> SpoolEntry:
    """The description of a session."""
    if isinstance(tags, str):
        raise InvalidInput("tags must be a list of names")
    body: dict[str, Any] = {"sessionId": session_id, "tags": [check_name(tag, "a tag") for tag in tags]}
    for name, value in (("userId", user_id), ("agent", agent), ("parentSession", parent_session)):
        if value is not None:
            body[name] = check_name(value, name)
    if initial is not None:
        body["initial"] = initial
    if metadata is not None:
        body["metadata"] = _object(metadata, "metadata")
    return SpoolEntry(key, "POST", "/api/sessions", "sessionId", _body(body))


def state_patch(session_id: str, key: str, patch: Mapping[str, Any]) -> SpoolEntry:
    """A patch of the session's state."""
    body = _object(patch, "a patch of the state")
    for name in NOT_STATE:
        if name in body:
            raise InvalidInput(f"a state has no member {name!r} of its own", hint="use another name")
    return SpoolEntry(key, "PATCH", f"/api/state/{session_id}", "version", _body(body))


def new_goal(
    session_id: str,
    key: str,
    goal_id: str,
    description: str,
    *,
    status: str,
    priority: str,
    times: Mapping[str, int] | None = None,
) -> SpoolEntry:
    """A goal, under the name that the program knows it by; `times` are its `createdAt` and `completedAt`, if given."""
    _check_child(goal_id, "a goal's id")
    body = {"goalId": goal_id, "description": description, "status": status, "priority": priority, **(times or {})}
    _check_goal(body)
    return SpoolEntry(key, "POST", f"/api/state/{session_id}/goals", "goalId", _body(body))


def goal_change(session_id: str, key: str, goal_id: str, changes: Mapping[str, Any]) -> SpoolEntry:
    """What is to be changed of a goal."""
    if not changes:
        raise InvalidInput("there is nothing to change", hint="give a status, description or priority")
    _check_goal(changes)
    _check_child(goal_id, "a goal's id")
    path = f"/api/state/{session_id}/goals/{quote(goal_id, safe='')}"
    return SpoolEntry(key, "PATCH", path, "goalId", _body(dict(changes)))


def new_agent(
    session_id: str, key: str, agent_id: str, type: str, task: Any, *, spawned_at: int | None = None
) -> SpoolEntry:
    """A sub-agent, under the name that the program knows it by."""
    _check_child(agent_id, "a sub-agent's id")
    body = {"agentId": agent_id, "type": check_name(type, "a sub-agent's type"), "task": task}
    if spawned_at is not None:
        body["spawnedAt"] = spawned_at
    return SpoolEntry(key, "POST", f"/api/state/{session_id}/agents", "agentId", _body(body))


def agent_end(session_id: str, key: str, agent_id: str, *, status: str, result: Any) -> SpoolEntry:
    """A sub-agent's end."""
    _one_of("sub-agent", "status", status, AGENT_ENDS)
    _check_child(agent_id, "a sub-agent's id")
    path = f"/api/state/{session_id}/agents/{quote(agent_id, safe='')}/complete"
    return SpoolEntry(key, "POST", path, "agentId", _body({"status": status, "result": result}))


def _body(value: dict[str, Any]) -> Raw:
    raw = strict_json.dump(value)
    if len(raw) > MAX_BODY:
        raise TooLarge(f"{len(raw)} bytes in one call", limit=MAX_BODY)
    return Raw(raw)


def _object(value: Mapping[str, Any], what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be a JSON object")
    return dict(value)


def _check_child(name: str, what: str) -> None:
    """InvalidInput if the name cannot be part of an address: what has it could be added and then never changed."""
    if check_name(name, what) in {".", ".."} or "/" in name:
        raise InvalidInput(f"{what} cannot be {name!r:.80}", hint="no slash, and not '.' or '..'")


def _check_goal(body: Mapping[str, Any]) -> None:
    if not isinstance(body.get("description", ""), str):
        raise InvalidInput("a goal's description must be text")
    for name, allowed in (("status", GOAL_STATUSES), ("priority", GOAL_PRIORITIES)):
        if name in body:
            _one_of("goal", name, body[name], allowed)


def _one_of(what: str, name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InvalidInput(f"a {what} has no {name} {value!r:.80}", hint=f"one of {', '.join(allowed)}")
