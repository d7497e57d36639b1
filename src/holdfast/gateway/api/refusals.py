"""The problems that an operation can answer with, for the OpenAPI document: by what it does, and in this one place.

A status that is not said here is never answered, whatever is sent.
"""

from http import HTTPStatus
from typing import Any

from holdfast.core.problem import MEDIA_TYPE
from holdfast.gateway.api.operation import schema_of
from holdfast.gateway.wire.sessions import Problem

NAME = "Problem"
ANSWER = {"description": "A problem", "content": {MEDIA_TYPE: {"schema": schema_of(Problem)}}}

EVERYWHERE = frozenset({400, 401, 403, 408, 413, 421, 429, 431, 500, 503})
"""What is sent is wrong, too much, too slow or not allowed; or we cannot."""
OF_A_THING = frozenset({404})
OF_A_SESSION = frozenset({404, 409, 410})
"""It is not there, still on its way, or was deleted."""
OF_A_CHANGE = frozenset({409, 507})
"""What is there contradicts it, or there is no room."""

OF_A_CONDITION = frozenset({412})
"""What If-Match or If-None-Match says is not so."""

NAMING_A_SESSION = frozenset(
    {
        ("post", "/api/sessions"),
        ("post", "/api/verify"),
        ("post", "/api/archives/purge"),
        ("post", "/api/keys/{key}/reset"),
    }
)
"""Operations that name sessions in their bodies."""
NAMING_A_THING = frozenset({("get", "/api/memories/history"), ("post", "/api/memories/forget")})
"""Operations that name something else, elsewhere than in their path."""


def refusals(method: str, path: str, entry: dict[str, Any]) -> dict[str, Any]:
    """The problems among an operation's answers."""
    asked = {parameter["name"] for parameter in entry.get("parameters", ())}
    statuses = EVERYWHERE
    if asked & {"session_id", "session"} or (method, path) in NAMING_A_SESSION:
        statuses |= OF_A_SESSION
    if "{" in path or "cursor" in asked or (method, path) in NAMING_A_THING:
        statuses |= OF_A_THING
    if asked & {"if-match", "if-none-match"}:
        statuses |= OF_A_CONDITION
    if method != "get":
        statuses |= OF_A_CHANGE
    return {
        str(status): {"$ref": f"#/components/responses/{NAME}", "description": HTTPStatus(status).phrase}
        for status in sorted(statuses)
    }
