"""Refusals of HTTP itself, outside of JSON-RPC: the one problem object that every failing answer of ours is."""

from starlette.responses import Response

from holdfast.core import HoldfastError, strict_json
from holdfast.core.problem import MEDIA_TYPE, problem


def problem_answer(error: HoldfastError) -> Response:
    """The error as a problem; with Retry-After if trying again may help."""
    headers = {"Retry-After": "1"} if error.status == 503 else None
    return Response(strict_json.encode(problem(error)), error.status, headers, MEDIA_TYPE)
