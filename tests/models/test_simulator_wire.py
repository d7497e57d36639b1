"""What is wrong with a request is said strictly, and in the shape of the API that it came over."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.routing import Route

from holdfast.core.errors import NotFound, TooLarge
from holdfast.models.simulator.app import create_app
from holdfast.models.simulator.catalogue import MOST_BYTES, MOST_FILES, Uploads

PAGE = Path(__file__).parents[2] / "docs" / "simulator.md"


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=create_app(ids=lambda: "1"))
    async with httpx2.AsyncClient(transport=transport, base_url="http://sim") as client:
        yield client


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "not JSON"),
        (b'{"model":"m","input":"a","input":"b"}', "'input' is there twice"),
        (b'{"input":"x"}', "`model`"),
        (b'{"model":"m"}', "`input`"),
        (b'{"model":"m","input":7}', "$.input"),
        (b'{"model":"m","input":[{"role":"robot","content":"x"}]}', "$.input[0].role"),
        (b'{"model":"m","input":[{"role":"user"}]}', "lacks"),
        (b'{"model":"m","input":[{"role":"user","content":[{}]}]}', "no type"),
        (b'{"model":"m","input":[{"type":"function_call","name":"f"}]}', "lacks"),
        (
            b'{"model":"m","input":[{"type":"function_call","name":"f","call_id":"c","arguments":"[]"}]}',
            "not a JSON object",
        ),
        (b'{"model":"m","input":[{"type":"function_call_output","call_id":"c"}]}', "lacks"),
        (b'{"model":"m","input":[{"type":"item_reference","id":"x"}]}', "'item_reference' is not supported"),
        (b'{"model":"m","input":"x","conversation":"c"}', "conversation is not supported"),
        (b'{"model":"m","input":"x","background":true}', "background is not supported"),
    ],
)
async def test_responses(client: httpx2.AsyncClient, body: bytes, said: str) -> None:
    response = await client.post("/v1/responses", content=body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert said in error["message"]
    assert (error["type"], error["param"]) == ("invalid_request_error", None)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[]", "Expected `object`"),
        (b'{"model":"m","messages":[],"max_tokens":NaN}', "NaN is not JSON"),
        (b'{"model":"m","messages":[]}', "`max_tokens`"),
        (b'{"model":"m","max_tokens":1,"messages":[{"role":"tool","content":"x"}]}', "$.messages[0].role"),
        (b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text"}]}]}', "no text"),
        (
            b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}',
            "tool_use_id",
        ),
        (
            b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":'
            b'[{"type":"tool_result","tool_use_id":"t","content":["x"]}]}]}',
            "not an object",
        ),
        (
            b'{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use"}]}]}',
            "tool_use lacks",
        ),
        (b'{"model":"m","max_tokens":1,"messages":[],"system":[{"type":"text"}]}', "no text"),
    ],
)
async def test_messages(client: httpx2.AsyncClient, body: bytes, said: str) -> None:
    response = await client.post("/v1/messages?beta=true", content=body)
    assert response.status_code == 400
    refusal = response.json()
    assert said in refusal["error"]["message"]
    assert (refusal["type"], refusal["error"]["type"]) == ("error", "invalid_request_error")


async def test_an_address_that_is_none_is_refused_as_its_client_expects(client: httpx2.AsyncClient) -> None:
    theirs = await client.get("/v1/nothing", headers={"anthropic-version": "2023-06-01"})
    assert (theirs.status_code, theirs.json()["error"]["type"]) == (404, "not_found_error")
    assert (await client.get("/v1/messages")).json()["type"] == "error"
    assert (await client.get("/v1/nothing")).json()["error"]["code"] is None


async def test_system_messages_among_the_others_and_thoughts_are_read(client: httpx2.AsyncClient) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "My name is Ada."},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": ""}]},
        {"role": "system", "content": "My name is Radia."},
        {"role": "user", "content": "What is my name?"},
    ]
    body = {"model": "m", "max_tokens": 1, "messages": messages, "tools": [{"type": "web_search", "name": "web"}]}
    response = await client.post("/v1/messages", json=body)
    assert response.json()["content"] == [{"type": "text", "text": "Your name is Ada."}]


async def test_no_tool_is_called_where_none_is_allowed(client: httpx2.AsyncClient) -> None:
    schema: dict[str, Any] = {"properties": {"file_path": {}, "text": {}}}
    turn = [{"role": "user", "content": "Append the line a to the file x"}]
    function = {"name": "append_file", "parameters": schema}
    chat = {"messages": turn, "tools": [{"type": "function", "function": function}], "tool_choice": "none"}
    responses = {"input": turn, "tools": [{"type": "function"} | function], "tool_choice": "none"}
    messages = {
        "messages": turn,
        "max_tokens": 1,
        "tools": [{"name": "append_file", "input_schema": schema}],
        "tool_choice": {"type": "none"},
    }
    for path, body in (("chat/completions", chat), ("responses", responses), ("messages", messages)):
        assert "I have no tool" in (await client.post(f"/v1/{path}", json={"model": "m"} | body)).text


async def test_reasoning_is_passed_over(client: httpx2.AsyncClient) -> None:
    items = [{"type": "reasoning", "id": "r", "summary": []}, {"role": "user", "content": "Lorem"}]
    response = await client.post("/v1/responses", json={"model": "m", "input": items})
    assert response.json()["output"][0]["content"][0]["text"] == "You said: Lorem"


async def test_a_form_without_a_file_is_refused(client: httpx2.AsyncClient) -> None:
    for refused in (
        await client.post("/v1/files", data={"purpose": "user_data"}),
        await client.post("/v1/files", files={"other": ("a", b"x")}),
        await client.post("/v1/files", content=b"x", headers={"content-type": "multipart/form-data"}),
    ):
        assert refused.status_code == 400
        assert refused.json()["error"]["type"] == "invalid_request_error"


async def test_a_file_is_described_as_either_vendor_does(client: httpx2.AsyncClient) -> None:
    files = {"file": ("a.pdf", b"%PDF", "application/pdf")}
    ours = (await client.post("/v1/files", files=files, data={"purpose": "assistants"})).json()
    assert (ours["object"], ours["bytes"], ours["purpose"]) == ("file", 4, "assistants")
    theirs = (await client.post("/v1/files", files=files, headers={"anthropic-version": "2023-06-01"})).json()
    assert (theirs["type"], theirs["size_bytes"], theirs["mime_type"]) == ("file", 4, "application/pdf")
    part = {"type": "document", "source": {"type": "file", "file_id": theirs["id"]}}
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [part]}]}
    said = (await client.post("/v1/messages", json=body)).json()["content"][0]["text"]
    assert said == "I received 1 attachment: a.pdf (application/pdf, 4 bytes)."
    assert (await client.get("/v1/files/none")).status_code == 404


async def test_runtimes_find_what_they_look_for(client: httpx2.AsyncClient) -> None:
    assert (await client.head("/api/hello")).status_code == 200
    assert (await client.get("/api/hello")).json() == {"status": "ok"}
    assert (await client.get("/api/v1/models")).json() == (await client.get("/v1/models")).json()


def test_every_route_is_on_the_simulators_page() -> None:
    page = PAGE.read_text()
    for route in create_app().routes:
        assert isinstance(route, Route)
        assert route.path.partition("{")[0] in page


def test_uploads_have_their_limits() -> None:
    uploads = Uploads(ids=iter(range(1000)).__next__)  # type: ignore[arg-type]
    kept = [uploads.add("a", "text/plain", "user_data", 0, b"x").id for _ in range(MOST_FILES + 1)]
    assert uploads.get(kept[1]).name == "a"
    with pytest.raises(NotFound):
        uploads.get(kept[0])
    with pytest.raises(TooLarge):
        uploads.add("b", "text/plain", "user_data", 0, bytes(MOST_BYTES + 1))
