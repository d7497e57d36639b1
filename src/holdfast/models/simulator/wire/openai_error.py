"""An error as OpenAI's clients read it."""

from typing import Any

from holdfast.models.simulator.wire.api import Problem

TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def error(problem: Problem) -> dict[str, Any]:
    """The error as a document."""
    usual = "server_error" if problem.status >= 500 else "invalid_request_error"
    kind = TYPES.get(problem.status, usual)
    return {"error": {"message": problem.message, "type": kind, "param": None, "code": problem.code}}
