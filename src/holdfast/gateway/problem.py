"""An error as the one JSON object that every failing answer is: RFC 9457, with our code and hint.

The details of an error are members beside the standard ones, which win where names are the same.
"""

from typing import Any

from holdfast.core import HoldfastError

MEDIA_TYPE = "application/problem+json"


def problem(error: HoldfastError) -> dict[str, Any]:
    """The problem object of an error."""
    found = {camel(name): value for name, value in error.details.items()}
    found |= {
        "type": f"urn:holdfast:problem:{error.code}",
        "title": error.code.replace("_", " ").capitalize(),
        "status": error.status,
        "detail": error.message,
        "code": error.code,
    }
    if error.hint is not None:
        found["hint"] = error.hint
    return found


def camel(name: str) -> str:
    """`session_id` as clients spell it: `sessionId`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
