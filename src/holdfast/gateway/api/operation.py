"""An operation: a route and what the OpenAPI document says of it, from one description.

Types of bodies, queries and answers are msgspec's; the same type decodes the request and describes it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, compile_path

REFERENCE = "#/components/schemas/{name}"
JSON = "application/json"
LINES = "application/x-ndjson"


class Bytes:
    """A body or an answer that is no JSON but bytes of its media type."""


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """A plain route with its description."""

    method: str
    path: str
    endpoint: Callable[[Request], Awaitable[Response]]
    summary: str
    answers: Mapping[int, Any]
    query: Any = None
    body: Any = None
    lines_of: Any = None
    headers: Sequence[str] = field(default=())
    media: str = JSON

    def route(self) -> Route:
        """The route that serves it."""
        return Route(self.path, self.endpoint, methods=[self.method], name=self.operation_id)

    @property
    def operation_id(self) -> str:
        """Its name in the document."""
        return self.endpoint.__name__

    def described(self) -> dict[str, Any]:
        """Its entry in the document."""
        entry: dict[str, Any] = {
            "operationId": self.operation_id,
            "summary": self.summary,
            "parameters": [*self._path_parameters(), *query_parameters(self.query), *self._header_parameters()],
            "responses": answers(self.answers, self.media),
        }
        if self.body is not None:
            entry["requestBody"] = request_body(self.body, self.lines_of)
        return entry

    def _path_parameters(self) -> list[dict[str, Any]]:
        _, _, convertors = compile_path(self.path)
        return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in convertors]

    def _header_parameters(self) -> list[dict[str, Any]]:
        return [
            {"name": name, "in": "header", "required": False, "schema": {"type": "string"}} for name in self.headers
        ]


def schema_of(shape: Any) -> dict[str, Any]:
    """A reference to the shape, or the shape itself if it has no name."""
    if shape is Bytes:
        return {"type": "string", "format": "binary"}
    return deepcopy(_schema(shape))


@cache
def _schema(shape: Any) -> dict[str, Any]:
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
        return {"$ref": REFERENCE.format(name=shape.__name__)}
    (schema,), _ = msgspec.json.schema_components([shape], ref_template=REFERENCE)
    return schema


def components(shapes: Sequence[Any]) -> dict[str, Any]:
    """The named shapes and all that they refer to."""
    _, found = msgspec.json.schema_components(shapes, ref_template=REFERENCE)
    return found


def answers(shapes: Mapping[int, Any], media: str = JSON) -> dict[int | str, dict[str, Any]]:
    """The good answers of an operation; one without a shape has no body. Of lines, the shape is one line's."""
    return {
        str(status): {"description": HTTPStatus(status).phrase}
        | ({} if shape is None else {"content": {media: {"schema": schema_of(shape)}}})
        for status, shape in shapes.items()
    }


def request_body(shape: Any, lines_of: Any = None, *, required: bool = True) -> dict[str, Any]:
    """The request body of an operation."""
    content = {"application/zip" if shape is Bytes else JSON: {"schema": schema_of(shape)}}
    if lines_of is not None:
        content[LINES] = {"schema": schema_of(lines_of)}
    return {"required": required, "content": content}


def query_parameters(shape: Any) -> list[dict[str, Any]]:
    """The query parameters that the members of a type stand for."""
    if shape is None:
        return []
    _, found = msgspec.json.schema_components([shape], ref_template=REFERENCE)
    parameters = []
    for name, schema in found[shape.__name__]["properties"].items():
        described = {"name": name, "in": "query", "required": False, "allowEmptyValue": True, "schema": schema}
        if "description" in schema:
            described["description"] = schema.pop("description")
        parameters.append(described)
    return parameters
