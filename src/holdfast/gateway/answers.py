"""Answers: JSON bytes with a status, and problems, the one shape of every failure."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from holdfast.core import HoldfastError, strict_json
from holdfast.gateway.problem import MEDIA_TYPE, problem

_encode = msgspec.json.Encoder().encode


def json_answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The value as a JSON answer."""
    return Response(_encode(value), status, headers, "application/json")


def document(value: Any) -> msgspec.Raw:
    """A stored JSON value as part of an answer, whatever numbers are in it."""
    return msgspec.Raw(strict_json.dump(value))


def problem_answer(error: HoldfastError, headers: Mapping[str, str] | None = None) -> Response:
    """The error as a problem; with Retry-After if trying again may help."""
    sent = dict(headers or {})
    if "retry_after" in error.details:
        sent["Retry-After"] = str(error.details["retry_after"])
    elif error.status == 503:
        sent["Retry-After"] = "1"
    return Response(strict_json.dump(problem(error)), error.status, sent, MEDIA_TYPE)
