"""The OpenAPI document says what is served: no route more, none less, every reference resolved."""

import json
import re

import httpx2
from fastapi import FastAPI
from starlette.routing import Route

from holdfast.core.event_bodies import BODIES

OPEN = {"/openapi.json", "/docs", "/dashboard/assets/{name}", "/mcp"}


def test_document_and_routes_are_the_same(app: FastAPI) -> None:
    documented = {(path, method.upper()) for path, methods in app.openapi()["paths"].items() for method in methods}
    served = {
        (route.path_format, method)
        for route in app.routes
        if isinstance(route, Route) and route.path not in OPEN
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert documented == served
    assert len(documented) == 75


def test_every_reference_resolves_and_every_operation_has_its_own_name(app: FastAPI) -> None:
    document = app.openapi()
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert references <= set(document["components"]["schemas"])
    assert "HTTPValidationError" not in references
    names = [entry["operationId"] for methods in document["paths"].values() for entry in methods.values()]
    assert len(set(names)) == len(names)


def test_every_operation_answers_with_a_type_or_a_problem(app: FastAPI) -> None:
    for methods in app.openapi()["paths"].values():
        for entry in methods.values():
            good = [answer for status, answer in entry["responses"].items() if status.startswith("2")]
            bad = [answer for status, answer in entry["responses"].items() if not status.startswith(("2", "3"))]
            assert good
            assert all(answer["content"] for answer in good)
            assert {answer["$ref"] for answer in bad} == {"#/components/responses/Problem"}
            assert "422" not in entry["responses"]
            assert "default" not in entry["responses"]
    problem = app.openapi()["components"]["responses"]["Problem"]
    assert list(problem["content"]) == ["application/problem+json"]


def test_the_busy_routes_are_described_by_their_types(app: FastAPI) -> None:
    document = app.openapi()
    action = document["components"]["schemas"]["NewAction"]
    assert action["required"] == ["type"]
    assert {"details", "timestamp", "eventId", "idempotencyKey", "expectedSeq", "parentId"} < set(action["properties"])
    parameters = {
        parameter["name"]: parameter
        for parameter in document["paths"]["/api/actions/{session_id}"]["get"]["parameters"]
    }
    assert set(parameters) == {"session_id", "limit", "before", "after", "type"}
    assert parameters["limit"]["schema"]["maximum"] == 1_000


def test_bodies_and_answers_that_are_no_json_say_so(app: FastAPI) -> None:
    paths = app.openapi()["paths"]
    for path, method, media in (
        ("/api/sessions/{session_id}/log", "get", "application/x-ndjson"),
        ("/api/export", "get", "application/zip"),
        ("/api/verify", "post", "application/x-ndjson"),
    ):
        assert list(paths[path][method]["responses"]["200"]["content"]) == [media]
    assert list(paths["/api/import"]["post"]["requestBody"]["content"]) == ["application/zip"]
    assert paths["/api/sessions/{session_id}/reset"]["post"]["requestBody"]["required"] is False


def test_every_parameter_of_a_path_is_described(app: FastAPI) -> None:
    for path, methods in app.openapi()["paths"].items():
        for entry in methods.values():
            named = {each["name"] for each in entry.get("parameters", ()) if each["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))


async def test_it_is_served(client: httpx2.AsyncClient, app: FastAPI) -> None:
    assert (await client.get("/openapi.json")).json() == json.loads(json.dumps(app.openapi()))


def test_what_the_stores_own_events_say_is_described(app: FastAPI) -> None:
    schemas = app.openapi()["components"]["schemas"]
    for kind, body in BODIES.items():
        found = schemas[f"{body.__name__}Body"]
        assert found["description"].startswith(f"`{kind}`: ")
        assert set(found["properties"]) == set(body.__struct_encode_fields__)
    assert {"$ref": "#/components/schemas/GoalUpdatedBody"} in schemas["FeedMessage"]["properties"]["data"]["anyOf"]
