"""An error as the one JSON object that every failing answer is: RFC 9457, with our code and hint.

The details of an error are members beside the standard ones, which win where names are the same. What an event says
is its `details` here, as on the routes of actions. No secret stays in what a problem says; ids and
keys, and what else it carries for a program, such as the events that a writer missed, are as they were stored.
"""

from typing import Any

from holdfast.core import HoldfastError
from holdfast.core.errors import StaleWriter
from holdfast.core.redact import redact

MEDIA_TYPE = "application/problem+json"


def problem(error: HoldfastError) -> dict[str, Any]:
    """The problem object of an error; of another service's refusal, the one that came."""
    if error.problem is not None:
        return error.problem
    found = {
        camel(name): redact(value) if isinstance(value, str) and not _is_name(name) else value
        for name, value in error.details.items()
    }
    if isinstance(error, StaleWriter):
        found["missed"] = [_entry(missed) for missed in error.details.get("missed", ())]
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


def _is_name(detail: str) -> bool:
    """Whether a detail names something that the caller has named so: it must find it again under that name."""
    return detail in {"key", "member"} or detail.endswith("_id")


def _entry(missed: dict[str, Any]) -> dict[str, Any]:
    return {"details" if name == "payload" else name: value for name, value in missed.items()}


def camel(name: str) -> str:
    """`session_id` as clients spell it: `sessionId`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
