"""The protocol as it is on the wire: one POST, one JSON answer, in each revision; what is malformed is refused."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from mcp import Client
from mcp_types import EmbeddedResource, TextContent, TextResourceContents
from tests.gateway.calling import checked
from tests.mcp_server.clients import REVISIONS, SESSION, done, furnish, mcp_client, refused, web
from tests.support.shared_stores import SharedStores

from holdfast.gateway.app import create_app
from holdfast.gateway.mcp.message import LARGEST_CALL
from holdfast.gateway.mcp.service import MOST_BYTES, MOST_VALUES
from holdfast.gateway.mcp.tools import TOOLS
from holdfast.store import NewEvent, Store, StoreTuning

MODERN = "2026-07-28"
HEADERS = {"Accept": "application/json, text/event-stream"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
async def store(shared_stores: SharedStores) -> Store:
    """What is said on the wire does not depend on the engine."""
    return await shared_stores.new_tenant("sqlite", StoreTuning())


@pytest.fixture
def app(store: Store) -> FastAPI:
    return create_app(store)


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    async with web(app, **HEADERS) as made:
        yield made


def call(method: str, params: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A request of JSON-RPC."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params}), **more}


def tool(name: str, **arguments: Any) -> dict[str, Any]:
    """A request of a tool."""
    return call("tools/call", {"name": name, "arguments": arguments})


async def modern(http: httpx2.AsyncClient, body: dict[str, Any]) -> httpx2.Response:
    """A request of the newest revision, with the headers that it asks for."""
    params = body.get("params", {})
    name = params.get("name", params.get("uri"))
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": body["method"], **({"Mcp-Name": name} if name else {})}
    return await http.post("/mcp", json={**body, "params": {**params, "_meta": META}}, headers=headers)


async def test_the_newest_revision_needs_no_handshake_and_keeps_no_session(http: httpx2.AsyncClient) -> None:
    answer = await modern(http, call("server/discover"))
    assert answer.json()["result"]["supportedVersions"] == [MODERN]
    made = await modern(http, tool("create_session", sessionId="s1"))
    assert made.json()["result"]["structuredContent"] == {"success": True, "sessionId": "s1"}
    assert not {name for name in made.headers if name.lower() == "mcp-session-id"}
    assert made.headers["content-type"] == "application/json"
    refusal = await modern(http, call("initialize"))
    assert "error" in refusal.json()


async def test_the_one_before_is_spoken_without_a_session_as_well(http: httpx2.AsyncClient) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    answer = await http.post("/mcp", json=call("initialize", hello))
    assert answer.json()["result"]["protocolVersion"] == "2025-11-25"
    assert "mcp-session-id" not in answer.headers
    noted = await http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert noted.status_code == 202
    answer = await http.post("/mcp", json=tool("list_sessions"), headers={"MCP-Protocol-Version": "2025-11-25"})
    assert answer.json()["result"]["structuredContent"] == {"sessions": [], "cursor": None}
    assert answer.headers["content-type"] == "application/json"


async def test_a_revision_that_nobody_knows_is_told_which_ones_there_are(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/mcp", json=call("tools/list"), headers={"MCP-Protocol-Version": "2099-01-01"})
    assert answer.status_code == 400
    assert "protocolVersion" in answer.json()["error"]["message"]
    body = call("tools/list", {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}})
    headers = {"MCP-Protocol-Version": "2099-01-01", "Mcp-Method": "tools/list"}
    answer = await http.post("/mcp", json=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["data"]["supported"]) == (400, [MODERN])


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH"])
async def test_there_is_no_stream_to_open_and_no_session_to_end(http: httpx2.AsyncClient, method: str) -> None:
    answer = await http.request(method, "/mcp")
    assert (checked(answer)["code"], answer.headers["allow"]) == ("method_not_allowed", "POST")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', "the key 'method' is there twice"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', "NaN is not JSON"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}', "surrogate"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "levels"),
        (b"\xff", "UTF-8"),
    ],
)
async def test_what_is_not_json_as_we_take_it_is_a_parse_error(
    http: httpx2.AsyncClient, body: bytes, reason: str
) -> None:
    for headers in ({}, {"MCP-Protocol-Version": MODERN}):
        answer = await http.post("/mcp", content=body, headers={**headers, "Content-Type": "application/json"})
        assert answer.status_code == 400
        assert (answer.json()["id"], answer.json()["error"]["code"]) == (None, -32700)
        assert reason in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        [],
        [call("ping")],
        1,
        "ping",
        None,
        {},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": 7},
        {"jsonrpc": "2.0", "id": 1, "method": "nope"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nope"}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_state", "arguments": []}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x"}},
        {"jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": {"cursor": "x"}},
        {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}},
        {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "holdfast://sessions/../state"}},
        {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "nope"}},
        {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "resume"}},
    ],
    ids=lambda body: json.dumps(body)[:60],
)
async def test_what_is_no_request_is_refused_in_every_revision(http: httpx2.AsyncClient, body: Any) -> None:
    for headers in ({}, {"MCP-Protocol-Version": "2025-11-25"}, {"MCP-Protocol-Version": MODERN}):
        answer = await http.post("/mcp", json=body, headers=headers)
        assert answer.status_code < 500, answer.text
        if answer.status_code == 202:  # an answer to nothing, which the older revisions allow
            assert "result" in body
        else:
            assert answer.json()["error"]["code"] < 0, answer.text


@pytest.mark.parametrize("revision", REVISIONS)
async def test_arguments_are_checked_and_the_refusal_helps(app: FastAPI, revision: str) -> None:
    async with mcp_client(app, revision) as client:
        await furnish(client)
        near = await refused(client, "get_state", sesionId=SESSION)
        assert (near["code"], near["member"]) == ("invalid_input", "sesionId")
        assert "'sessionId'" in near["hint"]
        for arguments in ({}, {"sessionId": 1}, {"sessionId": ""}, {"sessionId": None}, {"sessionId": SESSION, "x": 1}):
            assert (await refused(client, "get_state", **arguments))["code"] == "invalid_input"
        for limit in (0, -1, 101, 1.5, "ten", 10**30):
            assert (await refused(client, "list_sessions", limit=limit))["code"] == "invalid_input"
        reserved = await refused(client, "append_action", sessionId=SESSION, type="holdfast.state")
        assert reserved["code"] == "invalid_input"
        assert (await refused(client, "patch_state", sessionId=SESSION, patch={"sessionId": "x"}))[
            "member"
        ] == "sessionId"


@pytest.mark.parametrize(
    "name", ["..", ".", "s1/resume", "s1%2Fresume", "a b", "s1\n", "s1?x=1", "s1#", "\0", "é", "x" * 201]
)
async def test_no_name_leads_to_another_route(app: FastAPI, name: str) -> None:
    """A name is one step of a path, or it is refused before anything is asked."""
    async with mcp_client(app) as client:
        await furnish(client)
        for each in TOOLS:
            if "sessionId" in each.input_schema()["properties"] and each.name != "search_events":
                more = {name: "x" for name in each.input_schema()["required"] if name != "sessionId"}
                if "seq" in more:
                    more["seq"] = 1  # type: ignore[assignment]
                assert (await refused(client, each.name, **more | {"sessionId": name}))["code"] == "invalid_input"
        if "/" in name or name in {".", "..", "\0", "s1\n"}:
            for tool_name, member in (("update_goal", "goalId"), ("branch_checkpoint", "checkpointId")):
                refusal = await refused(client, tool_name, **{"sessionId": SESSION, member: name})
                assert refusal["code"] == "invalid_input"


def test_schemas_mean_the_same_in_every_dialect_of_json_schema() -> None:
    """Clients with a validator of draft 7 take `items: false` beside `prefixItems` for: no items at all."""
    for each in TOOLS:
        for schema in (each.input_schema(), each.output_schema()):
            assert schema["type"] == "object"
            written = json.dumps(schema)
            for word in ("prefixItems", '"items": false', "unevaluated", "dependentSchemas", "$dynamicRef"):
                assert word not in written, (each.name, word)


@pytest.mark.parametrize("revision", REVISIONS)
async def test_resources_are_sessions_and_memories(app: FastAPI, revision: str) -> None:
    async with mcp_client(app, revision) as client:
        await furnish(client)
        await done(client, "put_memory", namespace="a/b c", key="k?é", value=[1])
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates][:2] == [
            "holdfast://sessions/{sessionId}",
            "holdfast://sessions/{sessionId}/resume",
        ]
        listed = (await client.list_resources()).resources
        assert {each.uri for each in listed} >= {f"holdfast://sessions/{SESSION}"}
        for path, member in (
            (f"sessions/{SESSION}", "metadata"),
            (f"sessions/{SESSION}/resume", "snapshot"),
            (f"sessions/{SESSION}/state", "version"),
            (f"sessions/{SESSION}/events/2", "seq"),
            ("memories/ada/likes", "value"),
            ("memories/a%2Fb%20c/k%3F%C3%A9", "value"),
        ):
            (found,) = (await client.read_resource(f"holdfast://{path}")).contents
            assert isinstance(found, TextResourceContents)
            assert member in json.loads(found.text), path
        for path in (
            "sessions",
            "sessions/nope",
            f"sessions/{SESSION}/events/0",
            f"sessions/{SESSION}/nope",
            "memories/x",
        ):
            with pytest.raises(Exception, match="no "):
                await client.read_resource(f"holdfast://{path}")


async def test_lists_of_resources_go_on_by_their_cursor(app: FastAPI, store: Store) -> None:
    for number in range(60):
        await store.sessions.create(f"s{number}")
    async with mcp_client(app) as client:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        assert (len(first.resources), len(second.resources), second.next_cursor) == (50, 10, None)
        assert len({each.uri for each in (*first.resources, *second.resources)}) == 60


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_prompt_has_what_is_needed_to_go_on(app: FastAPI, revision: str) -> None:
    async with mcp_client(app, revision) as client:
        await furnish(client)
        (offered,) = (await client.list_prompts()).prompts
        assert (offered.name, [each.name for each in offered.arguments or []]) == ("resume", ["sessionId"])
        said, beside = (await client.get_prompt("resume", {"sessionId": SESSION})).messages
        assert isinstance(said.content, TextContent)
        assert f"session {SESSION}" in said.content.text
        assert "- g1 (pending): apples are there" in said.content.text
        assert isinstance(beside.content, EmbeddedResource)
        assert isinstance(beside.content.resource, TextResourceContents)
        assert json.loads(beside.content.resource.text)["goals"][0]["goalId"] == "g1"


async def test_a_large_page_is_several_smaller_ones_and_nothing_is_left_out(app: FastAPI, store: Store) -> None:
    text = "x" * 60_000
    await store.append("s1", [_event({"text": text, "n": number}) for number in range(100)])
    async with mcp_client(app) as client:
        seen: list[int] = []
        after = 0
        while after < 100:
            page = await done(client, "read_events", sessionId="s1", after=after, limit=100)
            seen += [event["details"]["n"] for event in page["events"]]
            assert len(json.dumps(page)) <= MOST_BYTES
            after = page["cursor"]["after"]
        assert seen == list(range(100))


async def test_what_is_larger_than_an_answer_may_be_is_refused_with_the_way_around(app: FastAPI, store: Store) -> None:
    await store.append("s1", [_event({"text": "x" * (MOST_BYTES + 1)})])
    async with mcp_client(app) as client:
        whole = await refused(client, "read_event", sessionId="s1", seq=1)
        assert (whole["code"], whole["limit"]) == ("answer_too_large", MOST_BYTES)
        (event,) = (await done(client, "read_events", sessionId="s1"))["events"]
        assert (event["details"], event["detailsBytes"]) == (None, MOST_BYTES + 12)


async def test_what_has_more_values_than_can_be_shown_at_once_is_refused_both_ways(
    http: httpx2.AsyncClient, app: FastAPI, store: Store
) -> None:
    many: list[Any] = [{}] * (MOST_VALUES + 1)
    answer = await http.post("/mcp", json=tool("append_action", sessionId="s1", type="a", create=True, details=many))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)
    await store.append("s1", [_event({"many": many})])
    async with mcp_client(app) as client:
        assert (await refused(client, "read_event", sessionId="s1", seq=1))["limit"] == MOST_VALUES


async def test_checkpoints_are_paged(app: FastAPI, store: Store) -> None:
    await store.sessions.create("s1")
    for number in range(7):
        await store.checkpoints.create("s1", "", checkpoint_id=f"c{number}")
    async with mcp_client(app) as client:
        seen: list[str] = []
        cursor = None
        while True:
            page = await done(client, "list_checkpoints", sessionId="s1", limit=3, cursor=cursor)
            seen += [each["checkpointId"] for each in page["checkpoints"]]
            cursor = page["cursor"]
            if cursor is None:
                break
        assert seen == [f"c{number}" for number in range(7)]
        assert (await refused(client, "list_checkpoints", sessionId="s1", cursor="nope"))["code"] == "not_found"


async def test_a_body_that_is_too_large_is_refused(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/mcp", content=b" " * (LARGEST_CALL + 1), headers={"Content-Type": "application/json"})
    assert (answer.status_code, checked(answer)["limit"]) == (413, LARGEST_CALL)


async def test_spaces_around_a_headers_value_are_no_part_of_it(http: httpx2.AsyncClient) -> None:
    body = {**call("tools/list"), "params": {"_meta": META}}
    headers = {"MCP-Protocol-Version": f"{MODERN}  ", "Mcp-Method": "  tools/list \t"}
    assert (await http.post("/mcp", json=body, headers=headers)).status_code == 200


async def test_without_the_sdk_it_says_how_to_install_it(
    http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "holdfast.gateway.mcp.server", raising=False)
    monkeypatch.delitem(sys.modules, "holdfast.gateway.mcp.results", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    answer = await http.post("/mcp", json=call("ping"))
    assert (checked(answer)["code"], answer.json()["hint"]) == ("missing_extra", "pip install 'holdfast[mcp]'")
    monkeypatch.undo()
    assert (await http.post("/mcp", json=call("ping"))).status_code == 200


async def test_first_requests_at_once_share_one_import(app: FastAPI) -> None:
    async with web(app, **HEADERS) as http:
        answers = await asyncio.gather(*(http.post("/mcp", json=call("ping")) for _ in range(10)))
    assert {answer.status_code for answer in answers} == {200}


async def test_calls_at_once_do_not_wait_for_each_other(app: FastAPI) -> None:
    async def write(client: Client, number: int) -> int:
        written = await done(client, "append_action", sessionId=SESSION, type="a", details={"n": number})
        return int(written["seq"])

    async with mcp_client(app) as client:
        await furnish(client)
        seqs = await asyncio.gather(*(write(client, number) for number in range(30)))
        assert len(set(seqs)) == 30


def _event(details: dict[str, Any]) -> NewEvent:
    return NewEvent("note", details)
