"""Who may do what over MCP is what the routes say: tokens, tenants, hosts, origins, rates and the audit log."""

import pytest
from fastapi import FastAPI
from tests.mcp_server.clients import CALLS, HOST, REVISIONS, SESSION, done, furnish, mcp_client, refused, web

from holdfast.gateway.access.authority import TokenHolders
from holdfast.gateway.app import create_app
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.mcp.tools import TOOLS
from holdfast.store import Store

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
JSON = {"Accept": "application/json, text/event-stream"}
WRITERS = [tool.name for tool in TOOLS if not tool.effects.reads]


def asking_app(store: Store, limits: ConnectionLimits | None = None) -> FastAPI:
    """The application of a gateway that asks for tokens."""
    gateway = Gateway(store, authority=TokenHolders(store, {"local": "l" * 40}))
    return create_app(store, gateway=gateway, limits=limits)


@pytest.fixture
def app(store: Store) -> FastAPI:
    return asking_app(store)


@pytest.fixture
async def tokens(store: Store) -> dict[str, str]:
    """A token's text by its scope."""
    return {
        scope: (await store.tokens.create(scope, [scope]))[1] for scope in ("read", "write", "admin", "metrics")
    } | {"both": (await store.tokens.create("both", ["read", "write"]))[1]}


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_token_for_reading_reads_and_writes_nothing(
    app: FastAPI, tokens: dict[str, str], revision: str
) -> None:
    async with mcp_client(app, revision, tokens["both"]) as owner:
        await furnish(owner)
        head = (await done(owner, "show_session", sessionId=SESSION))["metadata"]["headSeq"]
        async with mcp_client(app, revision, tokens["read"]) as reader:
            for name, arguments in CALLS.items():
                if name in WRITERS:
                    refusal = await refused(reader, name, **arguments)
                    assert (refusal["code"], refusal["needs"]) == ("forbidden", "write"), name
                else:
                    await done(reader, name, **arguments)
            assert (await reader.read_resource(f"holdfast://sessions/{SESSION}")).contents
            assert (await reader.list_resources()).resources
        assert (await done(owner, "show_session", sessionId=SESSION))["metadata"]["headSeq"] == head
        async with mcp_client(app, revision, tokens["write"]) as writer:
            await done(writer, "append_action", sessionId=SESSION, type="note")
            assert (await refused(writer, "get_state", sessionId=SESSION))["needs"] == "read"


async def test_who_may_neither_read_nor_write_gets_no_further_than_the_door(
    app: FastAPI, tokens: dict[str, str]
) -> None:
    for token, status, code in (
        (None, 401, "unauthorized"),
        ("hf_wrong", 401, "unauthorized"),
        (tokens["metrics"], 403, "forbidden"),
    ):
        async with web(app, token, **JSON) as http:
            answer = await http.post("/mcp", json=PING)
            assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_a_revoked_token_ends_what_a_client_has_open(app: FastAPI, store: Store) -> None:
    token, text = await store.tokens.create("soon gone", ["read", "write"])
    async with web(app, text, **JSON) as http:
        assert (await http.post("/mcp", json=PING)).status_code == 200
        await store.tokens.revoke(token.token_id)
        assert (await http.post("/mcp", json=PING)).status_code == 401


@pytest.mark.parametrize("revision", REVISIONS)
async def test_another_tenants_things_are_not_there(
    app: FastAPI, store: Store, tokens: dict[str, str], revision: str
) -> None:
    other = store.for_tenant(f"{store.tenant}-other")
    _, theirs = await other.tokens.create("other", ["admin"])
    async with mcp_client(app, revision, tokens["both"]) as owner, mcp_client(app, revision, theirs) as stranger:
        await furnish(owner)
        assert (await refused(stranger, "get_memory", namespace="ada", key="likes"))["code"] == "not_found"
        for name, arguments in CALLS.items():
            result = await stranger.call_tool(name, arguments)
            text = str(result.structured_content)
            assert "apples are there" not in text
            if "sessionId" in arguments:
                assert result.is_error, name
                assert result.meta is not None
                assert result.meta["holdfast/problem"]["code"] == "not_found", name
        with pytest.raises(Exception, match="there is no session"):
            await stranger.read_resource(f"holdfast://sessions/{SESSION}/state")
        with pytest.raises(Exception, match="there is no session"):
            await stranger.get_prompt("resume", {"sessionId": SESSION})
        assert (await done(owner, "get_memory", namespace="ada", key="likes"))["value"] == "pears and apples"


async def test_only_an_operators_token_may_name_a_tenant(app: FastAPI, store: Store, tokens: dict[str, str]) -> None:
    call = {**PING, "method": "tools/call", "params": {"name": "list_sessions", "arguments": {}}}
    named = {"Holdfast-Tenant": f"{store.tenant}-other"}
    async with web(app, tokens["admin"], **JSON) as http:
        assert (await http.post("/mcp", json=call, headers=named)).status_code == 403
    await store.sessions.create("ours")
    async with web(app, "l" * 40, **JSON) as http:
        there = (await http.post("/mcp", json=call, headers=named)).json()["result"]["structuredContent"]["sessions"]
        assert there == []


async def test_what_is_forgotten_is_written_down_with_who_did_it(app: FastAPI, tokens: dict[str, str]) -> None:
    async with mcp_client(app, token=tokens["both"]) as owner:
        await furnish(owner)
        await done(owner, "forget_memory", namespace="ada", key="likes")
    async with web(app, tokens["admin"]) as http:
        entries = (await http.get("/api/audit")).json()["entries"]
        assert [(each["caller"], each["action"], each["target"], each["status"]) for each in entries] == [
            ("both", "POST", "/api/memories/forget", 200)
        ]
        await http.delete("/mcp")
        await http.post("/mcp", json=PING, headers=JSON)
        assert len((await http.get("/api/audit")).json()["entries"]) == 1


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Host": "evil.example"}, 421, "wrong_host"),
        ({"Origin": "https://evil.example"}, 403, "foreign_origin"),
        ({"Origin": "null"}, 403, "foreign_origin"),
        ({"Origin": HOST}, 200, None),
    ],
)
async def test_host_and_origin_are_looked_at(
    store: Store, headers: dict[str, str], status: int, code: str | None
) -> None:
    async with web(create_app(store), **JSON) as http:
        answer = await http.post("/mcp", json=PING, headers=headers)
        assert (answer.status_code, answer.json().get("code")) == (status, code)


async def test_a_tools_request_counts_as_one_of_its_callers(store: Store, tokens: dict[str, str]) -> None:
    app = asking_app(store, ConnectionLimits(rate=0.001))  # one at a time, and then not for long
    call = {**PING, "method": "tools/call", "params": {"name": "list_sessions", "arguments": {}}}
    async with web(app, tokens["read"], **JSON) as http:
        answer = (await http.post("/mcp", json=call)).json()
        assert answer["result"]["_meta"]["holdfast/problem"]["code"] == "too_many_requests"
        assert answer["result"]["_meta"]["holdfast/problem"]["retryAfter"] > 1
        assert (await http.post("/mcp", json=call)).status_code == 429
    async with web(app, tokens["both"], **JSON) as http:
        assert (await http.post("/mcp", json=PING)).status_code == 200
