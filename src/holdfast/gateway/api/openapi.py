"""The OpenAPI document: FastAPI's, completed with the plain routes and cleared of what we do not do.

Every operation names the types it answers with, and the statuses with which it answers a problem. Validation errors
are problems like any other, so FastAPI's own shape for them is taken out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from fastapi import FastAPI
from starlette.responses import Response

from holdfast.core.event_bodies import BODIES
from holdfast.gateway.api import refusals
from holdfast.gateway.api.operation import JSON, REFERENCE, ApiOperation, answers, components, request_body
from holdfast.gateway.api.parameter_texts import describe
from holdfast.gateway.wire import (
    access,
    caller,
    chat,
    children,
    events,
    family,
    feeds,
    forks,
    looks,
    memories,
    overview,
    proofs,
    queries,
    sessions,
    summaries,
    tasks,
    upkeep,
)

WIRE = (
    *(access, caller, chat, children, events, family, feeds, forks),
    *(looks, memories, overview, proofs, queries, sessions, summaries, tasks, upkeep),
)
SHAPES = [
    shape
    for module in WIRE
    for name, shape in vars(module).items()
    if isinstance(shape, type) and shape.__module__ == module.__name__ and not name.endswith("Query")
]


def described(
    shapes: Mapping[int, Any], body: Any = None, *, media: str = JSON, body_required: bool = True
) -> dict[str, Any]:
    """What a FastAPI route needs to be told of its answers, their media type, and the body."""
    extra = {} if body is None else {"requestBody": request_body(body, required=body_required)}
    return {
        "responses": answers(shapes, media),
        "openapi_extra": extra,
        "response_model": None,
        "response_class": Response,
        "status_code": next(iter(shapes)),
    }


def complete(app: FastAPI, operations: Sequence[ApiOperation]) -> None:
    """Make `app.openapi()` give the whole document."""
    fastapis_own = app.openapi
    made: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not made:
            made.update(whole(fastapis_own(), operations))
        return made

    app.openapi = openapi  # type: ignore[method-assign]


def whole(document: dict[str, Any], operations: Sequence[ApiOperation]) -> dict[str, Any]:
    """FastAPI's document with the plain routes, our shapes, and without its validation errors."""
    paths = document["paths"]
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = operation.described()
    for path, methods in paths.items():
        for method, entry in methods.items():
            for parameter in entry.get("parameters", ()):
                describe(parameter)
            entry["responses"].pop("422", None)
            entry["responses"] |= refusals.refusals(method, path, entry)
    document["components"] = {
        "schemas": with_event_bodies(with_open_entries(components(SHAPES))),
        "responses": {refusals.NAME: refusals.ANSWER},
    }
    return document


def with_open_entries(schemas: dict[str, Any]) -> dict[str, Any]:
    """The schemas with what a type cannot say: an action or a response without details may have other members."""
    for name in (sessions.NewAction.__name__, sessions.NewResponse.__name__):
        found = schemas[name]
        closed = {"required": ["details"], "properties": found["properties"]}
        closed["additionalProperties"] = found.pop("additionalProperties")
        found["anyOf"] = [closed, {"not": {"required": ["details"]}}]
    return schemas


def with_event_bodies(schemas: dict[str, Any]) -> dict[str, Any]:
    """The schemas with what the store's own events say, each named after its event, and followers told of them."""
    found, bodies = msgspec.json.schema_components(BODIES.values(), ref_template=f"{REFERENCE}Body")
    for kind, body in BODIES.items():
        bodies[body.__name__]["description"] = f"`{kind}`: {bodies[body.__name__]['description']}"
    data = {"description": "An action, or what the store's own event says.", "anyOf": [*found, {}]}
    schemas[feeds.FeedMessage.__name__]["properties"]["data"] = data
    return schemas | {f"{name}Body": {**schema, "title": f"{name}Body"} for name, schema in bodies.items()}
