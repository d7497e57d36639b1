"""Version 0.3: the JSON-RPC envelope, errors and data objects."""

import json
from typing import Any

import pytest
from tests.a2a.conformance.speaker import Json, Speaker, request
from tests.a2a.harness import events_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

GET = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "nope"}}


async def test_json_rpc_is_spoken_over_http(v03: Speaker) -> None:
    """0.3 §3.1: A2A is spoken over HTTP, in at least one of the three transports: JSON-RPC.
    0.3 §3.2.1: requests and answers are of JSON-RPC 2.0, with the content type application/json."""
    response = await v03.post(GET)
    assert response.headers["content-type"].split(";")[0] == "application/json"
    assert (response.json()["jsonrpc"], response.json()["id"]) == ("2.0", 1)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_a_request_says_that_it_is_json(v03: Speaker, content_type: str) -> None:
    """0.3 §7: a request has the content type application/json; another is refused."""
    response = await v03.post(GET, Content_Type=content_type)
    assert "error" in response.json()
    assert response.json()["error"]["code"] != -32001, "it was not looked at"


@pytest.mark.parametrize("version", ["1.0", "2", "", 2.0, None])
async def test_the_version_of_json_rpc_is_exactly_2_0(v03: Speaker, version: Any) -> None:
    """0.3 §6.11.1: jsonrpc is exactly "2.0": another is -32600."""
    assert (await v03.post(GET | {"jsonrpc": version})).json()["error"]["code"] == -32600


@pytest.mark.parametrize("call_id", ["a", "", 0, 7, -1, 1.5, None])
async def test_an_answer_has_the_id_of_its_request(v03: Speaker, call_id: Any) -> None:
    """0.3 §6.11.1: an id is text, a number or null, and the answer has the same."""
    answer = (await v03.post(GET | {"id": call_id})).json()
    assert answer["id"] == call_id
    assert answer["error"]["code"] == -32001


@pytest.mark.parametrize("call_id", [{}, [], [1], True])
async def test_an_id_of_another_kind_is_refused(v03: Speaker, call_id: Any) -> None:
    """0.3 §6.11.1: an id that is no text, number or null is no request: -32600, answered with the id null."""
    answer = (await v03.post(GET | {"id": call_id})).json()
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


async def test_a_request_without_an_id_is_not_run(v03: Speaker) -> None:
    """0.3 §6.11.1: a request without an id is a notification, which is not answered."""
    # It is answered here, so that whoever forgot the id is told; the page says why. At least it does nothing.
    context = v03.name()
    body = request("message/send", v03.message("hello", contextId=context))
    answer = (await v03.post({name: value for name, value in body.items() if name != "id"})).json()
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert v03.script.turns[context] == []


@pytest.mark.parametrize("body", [b"{", b"", b"\xff", b"nonsense"])
async def test_an_answer_to_no_json_has_no_id(v03: Speaker, body: bytes) -> None:
    """0.3 §6.11.2: where the id of a request cannot be read, that of the answer is null.
    0.3 §8.1: what is not JSON is -32700."""
    answer = (await v03.post(body)).json()
    assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", None, -32700)


async def test_an_answer_is_a_result_or_an_error(v03: Speaker) -> None:
    """0.3 §6.11.2: an answer has jsonrpc, id, and either a result or an error."""
    good = await v03.envelope("message/send", v03.message("hello"))
    bad = await v03.envelope("tasks/get", {"id": "nope"})
    assert (set(good), set(bad)) == ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    assert good["jsonrpc"] == bad["jsonrpc"] == "2.0"


@pytest.mark.parametrize("body", [b"[]", b"1", b'"text"', b"null", b"{}", json.dumps([GET]).encode()])
async def test_a_body_is_one_request(v03: Speaker, body: bytes) -> None:
    """0.3 §7: the body of a request is one JSON-RPC request: another is -32600."""
    answer = (await v03.post(body)).json()
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


async def test_an_error_is_an_error_of_json_rpc(v03: Speaker) -> None:
    """0.3 §6.11.2: the member error has a whole number as its code, and a message."""
    for method, params in (("tasks/get", {"id": "nope"}), ("tasks/get", {}), ("nope", {})):
        error = await v03.error(method, params)
        assert type(error["code"]) is int
        assert error["message"]


@pytest.mark.parametrize("method", ["message/nope", "tasks/list", "GetTaskk", "send"])
async def test_a_method_that_is_not_there(v03: Speaker, method: str) -> None:
    """0.3 §8.1: a method that does not exist is -32601; there is no tasks/list over JSON-RPC."""
    assert await v03.code(method, {}) == -32601


@pytest.mark.parametrize(
    "method",
    [
        "message/send",
        "message/stream",
        "tasks/get",
        "tasks/cancel",
        "tasks/resubscribe",
        "tasks/pushNotificationConfig/set",
        "tasks/pushNotificationConfig/get",
        "tasks/pushNotificationConfig/list",
        "tasks/pushNotificationConfig/delete",
    ],
)
async def test_every_method_is_there_and_looks_at_its_params(v03: Speaker, method: str) -> None:
    """0.3 §3.5.1: methods are named by category and action.
    0.3 §11.1.2: message/send, tasks/get and tasks/cancel are there; so are the optional ones.
    0.3 §8.1: params that a method does not take are -32602."""
    assert await v03.code(method, {}) == -32602


async def test_each_error_has_its_code(v03: Speaker) -> None:
    """0.3 §11.1.5: errors have the codes of section 8, as far as this server can meet with them."""
    ended = await v03.send("hello")
    file = {"kind": "file", "file": {"bytes": "AAE=", "mimeType": "no type"}}
    assert await v03.code("tasks/get", {"id": "nope"}) == -32001
    assert await v03.code("tasks/cancel", {"id": ended["id"]}) == -32002
    assert await v03.code("message/send", v03.message("more", taskId=ended["id"])) == -32004
    assert await v03.code("message/send", v03.message("", parts=[file])) == -32005
    assert await v03.code("agent/getAuthenticatedExtendedCard") == -32007


async def test_nothing_is_begun_by_a_bad_request(v03: Speaker) -> None:
    """0.3 §10.2: all params, and what is in the parts of a message, are validated."""
    context = v03.name()
    good = v03.message("hello", contextId=context)

    def changed(**members: Any) -> Json:
        return good | {"message": good["message"] | members}

    wrong: list[Json] = [
        {},
        {"message": []},
        changed(parts=[]),
        changed(parts="hello"),
        changed(parts=[{"kind": "text"}]),
        changed(parts=[{"kind": "text", "text": 1}]),
        changed(parts=[{"kind": "data", "data": 1}]),
        changed(parts=[{"kind": "file", "file": {}}]),
        changed(parts=[{"kind": "file", "file": {"bytes": "AAE=", "uri": "https://example.org/a"}}]),
        changed(parts=[{"kind": "file", "file": {"bytes": "not base64!"}}]),
        changed(role="agent"),
        changed(role="ROLE_USER"),
        changed(messageId=1),
        changed(messageId=""),
        changed(taskId=1),
        changed(contextId=[]),
        changed(kind="task"),
        changed(metadata=[]),
        changed(referenceTaskIds="t"),
        changed(extensions="x"),
        good | {"configuration": []},
        good | {"configuration": {"historyLength": -1}},
        good | {"configuration": {"blocking": "maybe"}},
        good | {"configuration": {"pushNotificationConfig": {}}},
        good | {"metadata": "x"},
    ]
    assert await v03.taken("message/send", wrong) == []
    assert v03.script.turns[context] == []


@pytest.mark.parametrize("kind", ["image", "", None, 7])
async def test_a_part_is_of_one_of_three_kinds(v03: Speaker, kind: Any) -> None:
    """0.3 §6.5: a part is text, a file or data: another kind is refused."""
    assert await v03.code("message/send", v03.message("", parts=[{"kind": kind, "text": "a"}])) == -32602


async def test_objects_have_their_members(v03: Speaker) -> None:
    """0.3 §11.1.5: tasks, statuses, messages, parts and artifacts are those of section 6."""
    asked = await v03.send("ask")
    task = await v03.send("hello result", taskId=asked["id"])
    reply = await v03.result("message/send", v03.message("reply"))
    assert (task["kind"], reply["kind"]) == ("task", "message")
    assert all(task[name] for name in ("id", "contextId", "status"))
    assert (asked["status"]["state"], task["status"]["state"]) == ("input-required", "completed")
    messages = [reply, asked["status"]["message"], *task["history"]]
    assert {message["kind"] for message in messages} == {"message"}
    assert {message["role"] for message in messages} == {"user", "agent"}
    assert all(message["messageId"] and message["parts"] for message in messages)
    assert all(artifact["artifactId"] and artifact["parts"] for artifact in task["artifacts"])
    parts = [part for each in [*messages, *task["artifacts"]] for part in each["parts"]]
    assert {part["kind"] for part in parts} == {"text", "data"}
    assert all(part["kind"] in part for part in parts)


async def test_a_stream_is_of_answers(v03: Speaker) -> None:
    """0.3 §7: the answer to a method that streams is a stream whose events are each a JSON-RPC answer.
    0.3 §3.3.1: such an answer is HTTP 200 with text/event-stream."""
    for params in (v03.message("hello"), {}):
        response = await v03.post(request("message/stream", params, 7))
        assert (response.status_code, response.headers["content-type"].split(";")[0]) == (200, "text/event-stream")
        answers = [json.loads(text) for text in events_in(response.text)]
        assert answers
        assert {(answer["jsonrpc"], answer["id"]) for answer in answers} == {("2.0", 7)}
        assert all(("result" in answer) != ("error" in answer) for answer in answers)
