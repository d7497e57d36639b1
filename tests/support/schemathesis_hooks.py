"""What schemathesis is told about the gateway beyond its OpenAPI document.

A schema cannot say everything that is refused with a 400: that a log must have the event that is named, that a search
asks for a word. Requests that are meant to be good are made so here, and only there; bad ones are sent as they are.
No backup is ever written anywhere but into the run's own folder.
"""

import json
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import schemathesis
from hypothesis import strategies as st
from schemathesis import Case, CheckContext, DeserializationContext, HookContext, Response, SerializationContext

LINES = "application/x-ndjson"
FOLDER = "HOLDFAST_TEST_FOLDER"
"""The name of the variable that says where backups go."""

schemathesis.openapi.format(
    "date-time",
    st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(9999, 12, 30)).map(
        lambda moment: moment.replace(tzinfo=UTC).isoformat(timespec="milliseconds")
    ),
)


@schemathesis.serializer(LINES)
def as_lines(_context: SerializationContext, value: Any) -> bytes:
    """A batch of one line."""
    return json.dumps(value).encode() + b"\n"


@schemathesis.serializer("application/zip")
def as_bytes(_context: SerializationContext, value: Any) -> bytes:
    """What is sent as an archive."""
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.deserializer(LINES)
def last_line(_context: DeserializationContext, response: Response) -> Any:
    """The document describes one line; the check below looks at all of them."""
    lines = response.content.splitlines()
    return json.loads(lines[-1]) if lines else {}


@schemathesis.check
def every_line_fits(_context: CheckContext, response: Response, case: Case[Any]) -> bool | None:
    """Every line of an answer in lines is what the document says."""
    if response.status_code != 200 or response.headers.get("content-type", [""])[0] != LINES:
        return None
    raw = case.operation.schema.raw_schema
    content = case.operation.definition.raw["responses"]["200"]["content"][LINES]["schema"]
    schema = {**content, "components": raw["components"]}
    for line in response.content.splitlines():
        jsonschema_rs.validate(schema, json.loads(line))
    return None


@schemathesis.hook
def filter_query(_context: HookContext, query: Any) -> bool:
    """Leave out what is only wrong until it is written down: nothing is as good as left out, any text is a type."""
    return not query or (
        isinstance(query.get("type", []), list) and not any(value in (None, [], {}, [""]) for value in query.values())
    )


@schemathesis.hook
def before_call(_context: HookContext, case: Case[Any], _kwargs: dict[str, Any]) -> None:
    """Make a good request good, and a backup harmless."""
    name = case.operation.definition.raw["operationId"]
    if name == "make_backup" and isinstance(case.body, dict) and isinstance(case.body.get("path"), str):
        case.body["path"] = str(Path(os.environ[FOLDER]) / f"{secrets.token_hex(8)}.backup")
    if case.meta is not None and case.meta.generation.mode.is_positive:
        case.query.pop("cursor", None)
        for header in ("if-match", "if-none-match"):
            if header in case.headers:
                case.headers[header] = '"1-x"'
        fit_query(name, case.query)
        for body in case.body if isinstance(case.body, list) else [case.body]:
            if isinstance(body, dict):
                for member, value in body.items():
                    if isinstance(value, float) and value.is_integer():
                        body[member] = int(value)  # a JSON number that is whole, but not as we write one
                if body.get("sessionId") == case.path_parameters.get("session_id"):
                    body.pop("sessionId", None)  # a session that comes from another needs an id of its own
                fit_body(name, body)


def fit_query(name: str, query: Any) -> None:
    """A search asks for a word."""
    if name == "search" or (name == "get_sessions" and "q" in query):
        query["q"] = "word"


def fit_body(name: str, body: dict[str, Any]) -> None:
    """Events that are named are there; a change changes something; nothing is said twice."""
    match name:
        case "append" | "append_response":
            body.pop("parentId", None)
        case "append_batch":
            body.pop("parentId", None)
            body.pop("expectedSeq", None)
        case "create_checkpoint":
            body.pop("seq", None)
        case "fork_session":
            body.pop("at", None)
            body.pop("seq", None)
        case "compact_session":
            body.update(summary={"text": "x"}, firstSeq=1, lastSeq=1)
        case "add_goal" | "spawn_agent":
            body.pop("id", None)
            body.pop("completedAt", None)
        case "update_goal" | "complete_agent":
            said_again = {"id", "goalId", "agentId", "completedAt"} & body.keys()
            body.update({"status": body.get("status") or "completed"})
            list(map(body.pop, said_again))
        case "patch_state":
            fit_children(body)
        case "tag_session":
            body["add"] = body.get("add") or ["t"]
        case "purge_archives":
            if body.get("sessions") is None:
                body["olderThanMs"] = body.get("olderThanMs") or 0
            else:
                body.pop("olderThanMs", None)


def fit_children(body: dict[str, Any]) -> None:
    """A new goal has a description, a new sub-agent a type, and each of them one id."""
    for member, needed in (("goals", "description"), ("agents", "type")):
        for child in body.get(member, ()):
            child.pop("id", None)
            child[needed] = child.get(needed) or "x"
