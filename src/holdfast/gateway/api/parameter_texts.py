"""What the OpenAPI document says of parameters that are texts: the same name means the same on every route."""

from typing import Any

from holdfast.core import TaskState
from holdfast.core.ids import MAX_NAME_LENGTH
from holdfast.core.statuses import SESSION_STATUSES
from holdfast.gateway.wire.types import OWN_TEXT, SESSION_ID, TEXT
from holdfast.store import LAST_MS

NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH, **TEXT}
MOMENT = {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "integer", "minimum": 0, "maximum": LAST_MS}]}
TAG = r'(W/)?"[!#-~]*"'
TAGS = {"type": "string", "pattern": rf"^(\*|{TAG}(, ?{TAG})*)$"}

SCHEMAS: dict[str, dict[str, Any]] = {
    "session_id": {"type": "string", **SESSION_ID},
    "idempotency-key": {"type": "string", "maxLength": MAX_NAME_LENGTH, **OWN_TEXT},
    **dict.fromkeys(
        ("goal_id", "agent_id", "checkpoint_id", "token_id", "proof_id", "key", "user_id", "user", "tag", "agent"), NAME
    ),
    **dict.fromkeys(("task_id", "namespace", "prefix"), NAME),
    "type": {"type": "array", "items": NAME},
    "status": {"type": "string", "enum": list(SESSION_STATUSES)},
    "state": {"type": "string", "enum": [state.value for state in TaskState]},
    "reason": {"type": "string", "maxLength": MAX_NAME_LENGTH, **TEXT},
    "if-match": TAGS,
    "if-none-match": TAGS,
    "from": MOMENT,
    "to": MOMENT,
}
"""By name. Types and numbers are described where they are declared."""


ASKING_NOTHING = frozenset(
    {"user", "tag", "status", "agent", "q", "from", "to", "cursor", "session", "state", "namespace", "prefix"}
)
"""Parameters of queries that may be left empty, which is as if they were left out."""


def describe(parameter: dict[str, Any]) -> None:
    """Say of a parameter what its name says, unless its route says more; that of a session's id is one for each, where
    there may be several."""
    name, schema = parameter["name"], parameter["schema"]
    several = any(option.get("type") == "array" for option in schema.get("anyOf", ()))
    if name == "session":
        one = SCHEMAS["session_id"]
        parameter["schema"] = {"type": "array", "items": one} if several else one
    elif "pattern" not in schema:
        parameter["schema"] = SCHEMAS.get(name, schema)
    if parameter["in"] == "query" and name in ASKING_NOTHING and not parameter["required"] and not several:
        parameter["allowEmptyValue"] = True
