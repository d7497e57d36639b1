"""Every tool, called for real on both engines and in both revisions; and what each of them gives back."""

from typing import Any

import pytest
from fastapi import FastAPI
from mcp_types import TextContent
from tests.mcp_server.clients import CALLS, RESET, RESTORED, REVISIONS, SESSION, done, furnish, mcp_client, refused

from holdfast.core import strict_json
from holdfast.gateway.app import create_app
from holdfast.gateway.mcp.tools import BY_NAME, TOOLS
from holdfast.store import Store

pytestmark = pytest.mark.parametrize("revision", REVISIONS)


@pytest.fixture
def app(store: Store) -> FastAPI:
    return create_app(store)


async def test_every_tool_does_its_work(app: FastAPI, revision: str) -> None:
    assert list(BY_NAME) == list(CALLS), "every tool needs its call here"
    async with mcp_client(app, revision) as client:
        assert client.protocol_version == revision
        await furnish(client)
        found = {name: await done(client, name, **arguments) for name, arguments in CALLS.items()}
        assert [each["sessionId"] for each in found["list_sessions"]["sessions"]] == [RESTORED, RESET, SESSION]
        assert found["show_session"]["state"]["phase"] == "plan"
        assert "e1" in [each["eventId"] for each in found["resume_session"]["events"]]
        assert found["resume_session"]["complete"]
        made = await done(client, "show_session", sessionId=found["create_session"]["sessionId"])
        assert (made["initial"], made["metadata"]["tags"]) == ({"input": "buy apples"}, ["shop"])
        assert found["finalize_session"]["final"]["outcome"] == {"ok": True}
        assert found["fork_session"]["forkedFrom"] == {"sessionId": SESSION, "seq": 2}
        assert found["reset_session"]["previousSession"] == RESET
        assert found["tag_session"]["tags"] == ["new"]
        seq = found["append_action"]["seq"]
        event = await done(client, "read_event", sessionId=SESSION, seq=seq)
        assert (event["type"], event["details"]) == ("note", {"text": "green apples"})
        assert found["append_response"]["seq"] == seq + 1
        assert [each["seq"] for each in found["read_events"]["events"]] == [seq, seq + 1]
        assert found["read_event"]["eventId"] == "e1"
        assert {each["sessionId"] for each in found["search_events"]["hits"]} >= {SESSION, RESET}
        assert found["get_state"]["goals"][0]["goalId"] == "g1"
        assert found["patch_state"]["phase"] == "shop"
        assert "old" not in found["patch_state"]
        assert found["add_goal"]["goalId"] == "goal-002"
        assert found["update_goal"]["status"] == "in_progress"
        assert [each["checkpointId"] for each in found["list_checkpoints"]["checkpoints"]] == ["c1"]
        assert found["create_checkpoint"]["name"] == "before the shop"
        assert found["compact_session"]["document"] == {"text": "apples were wanted"}
        assert found["branch_checkpoint"]["forkedFrom"] == {"sessionId": SESSION, "seq": 2}
        assert found["restore_checkpoint"]["forkedFrom"] == {"sessionId": RESTORED, "seq": 2}
        assert found["put_memory"]["version"] == 2
        assert found["get_memory"]["value"] == {"fruit": "apples"}
        assert [each["key"] for each in found["search_memories"]["memories"]] == ["likes"]
        assert [each["key"] for each in found["list_memories"]["memories"]] == ["likes"]
        assert found["list_memory_namespaces"]["namespaces"] == [{"namespace": "ada", "memories": 1}]
        assert found["forget_memory"]["version"] == 3
        assert (await refused(client, "get_memory", namespace="ada", key="likes"))["code"] == "not_found"


async def test_a_result_is_the_same_as_text_and_as_a_value(app: FastAPI, revision: str) -> None:
    async with mcp_client(app, revision) as client:
        await furnish(client)
        result = await client.call_tool("get_state", {"sessionId": SESSION})
        (text,) = result.content
        assert isinstance(text, TextContent)
        assert strict_json.parse(text.text.encode()) == result.structured_content


async def test_what_was_not_given_is_not_sent_and_null_is(app: FastAPI, revision: str) -> None:
    async with mcp_client(app, revision) as client:
        await furnish(client)
        with_null = await done(client, "append_action", sessionId=SESSION, type="a", details=None)
        without = await done(client, "append_action", sessionId=SESSION, type="a")
        for written, details in ((with_null, None), (without, {})):
            event = await done(client, "read_event", sessionId=SESSION, seq=written["seq"])
            assert event["details"] == details
        assert (await done(client, "put_memory", namespace="n", key="k", value=None))["value"] is None
        assert (await done(client, "get_memory", namespace="n", key="k"))["value"] is None


async def test_a_retry_with_its_key_changes_nothing_more(app: FastAPI, revision: str) -> None:
    takes_key = [tool for tool in TOOLS if "idempotencyKey" in tool.input_schema()["properties"]]
    writing = {tool.name for tool in TOOLS if not tool.effects.reads}
    assert writing - {tool.name for tool in takes_key} == {"forget_memory"}
    async with mcp_client(app, revision) as client:
        await furnish(client)
        for tool in takes_key:
            arguments = CALLS[tool.name] | {"idempotencyKey": f"once-{tool.name}"}
            first = await done(client, tool.name, **arguments)
            before = await done(client, "list_sessions", limit=100)
            assert await done(client, tool.name, **arguments) == first, tool.name
            assert await done(client, "list_sessions", limit=100) == before, tool.name


async def test_a_stale_writer_is_told_what_there_is_now(app: FastAPI, revision: str) -> None:
    async with mcp_client(app, revision) as client:
        await furnish(client)
        stale = await refused(client, "patch_state", sessionId=SESSION, patch={"phase": "x"}, expectedVersion=0)
        assert (stale["code"], stale["version"], stale["state"]["phase"]) == ("stale_state", 1, "plan")
        late = await refused(client, "append_action", sessionId=SESSION, type="a", expectedSeq=1)
        assert late["code"] == "stale_writer"
        assert late["missed"]


async def test_a_misspelt_handle_makes_no_session_unless_that_is_asked_for(app: FastAPI, revision: str) -> None:
    writes: dict[str, dict[str, Any]] = {
        "append_action": {"type": "a"},
        "append_response": {"details": {}},
        "patch_state": {"patch": {}},
        "add_goal": {"description": "d"},
    }
    async with mcp_client(app, revision) as client:
        for name, arguments in writes.items():
            assert (await refused(client, name, sessionId="misspelt", **arguments))["code"] == "not_found"
        assert (await done(client, "list_sessions"))["sessions"] == []
        for name, arguments in writes.items():
            await done(client, name, sessionId=f"new-{name}", create=True, **arguments)
        assert len((await done(client, "list_sessions"))["sessions"]) == len(writes)
