"""Version 1.0: the JSON-RPC envelope, errors, and how values are written."""

import asyncio
import json
import re
from typing import Any

import pytest
from tests.a2a.conformance.speaker import Json, Speaker, members_in, request

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"", -32700),
        (b'"text"', -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"GetTask","params":{"id":"x"}}', -32600),
        (b'{"id":1,"method":"GetTask","params":{"id":"x"}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"params":{"id":"x"}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"GetTask","params":{"id":"x"}}', -32600),
    ],
)
async def test_what_is_no_request_of_json_rpc_is_refused(v10: Speaker, body: bytes, code: int) -> None:
    """1.0 §9.3: a request has the form of JSON-RPC 2.0; another body is -32700 or -32600."""
    answer = (await v10.post(body)).json()
    assert answer["error"]["code"] == code
    assert "result" not in answer


@pytest.mark.parametrize("call_id", ["a", 1, 0, ""])
async def test_the_answer_has_the_id_of_its_request(v10: Speaker, call_id: Any) -> None:
    """1.0 §9.3: an answer is of JSON-RPC 2.0: it has the request's id, and a result or an error."""
    good = (await v10.post(request("ListTasks", {}, call_id))).json()
    assert (good["jsonrpc"], good["id"], set(good)) == ("2.0", call_id, {"jsonrpc", "id", "result"})
    bad = (await v10.post(request("GetTask", {"id": "nope"}, call_id))).json()
    assert (bad["jsonrpc"], bad["id"], set(bad)) == ("2.0", call_id, {"jsonrpc", "id", "error"})


async def test_answers_are_json(v10: Speaker) -> None:
    """1.0 §9.1: requests and answers have the content type application/json."""
    for method in ("ListTasks", "Nope"):
        response = await v10.post(request(method, {}), Content_Type="application/json")
        assert response.headers["content-type"].split(";")[0] == "application/json"


@pytest.mark.parametrize(
    "method",
    [
        "SendMessage",
        "SendStreamingMessage",
        "GetTask",
        "CancelTask",
        "SubscribeToTask",
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
    ],
)
async def test_every_method_is_there_and_looks_at_its_params(v10: Speaker, method: str) -> None:
    """1.0 §5.3: every method of the table is there under its name.
    1.0 §9.5: params that a method does not take are -32602."""
    assert await v10.code(method, {}) == -32602
    assert await v10.code(method, [1]) == -32602


@pytest.mark.parametrize("method", ["Nope", "sendMessage", "message/send", "tasks/get"])
async def test_a_method_that_is_not_there(v10: Speaker, method: str) -> None:
    """1.0 §9.5: a method that does not exist is -32601."""
    assert await v10.code(method, {}) == -32601


async def test_each_error_has_its_code(v10: Speaker) -> None:
    """1.0 §5.4: each error of A2A has the code of the table, as far as this server can meet with it."""
    ended = await v10.send("hello")
    no_type = v10.message("", parts=[{"raw": "AAE=", "mediaType": "no type"}])
    assert await v10.code("GetTask", {"id": "nope"}) == -32001
    assert await v10.code("CancelTask", {"id": ended["id"]}) == -32002
    assert await v10.code("SubscribeToTask", {"id": ended["id"]}) == -32004
    assert await v10.code("SendMessage", no_type) == -32005
    assert (await v10.envelope("ListTasks", {}, A2A_Version="7.0"))["error"]["code"] == -32009


async def test_an_error_says_what_it_is(v10: Speaker) -> None:
    """1.0 §3.3.2: every error has a code for machines and a message for people.
    1.0 §9.5: what error.data has is objects that each name their `@type`."""
    ended = await v10.send("hello")
    wrong: list[tuple[str, Json]] = [
        ("GetTask", {"id": "nope"}),
        ("GetTask", {}),
        ("Nope", {}),
        ("CancelTask", {"id": ended["id"]}),
        ("SendMessage", v10.message("", parts=[])),
        ("ListTasks", {"pageSize": 0}),
        ("GetExtendedAgentCard", {}),
    ]
    errors = [await v10.error(method, params) for method, params in wrong]
    errors.append((await v10.post(b"{")).json()["error"])
    for error in errors:
        assert type(error["code"]) is int
        assert isinstance(error["message"], str)
        assert error["message"]
        data = error.get("data", [])
        assert isinstance(data, list), error
        assert all(isinstance(detail["@type"], str) for detail in data), error
    assert errors[0]["data"], "an error of A2A says more"


async def test_nothing_is_begun_by_a_bad_request(v10: Speaker) -> None:
    """1.0 §3.3.2: all input is looked at before anything is done.
    1.0 §13.4: input is validated before it is processed.
    1.0 §14.1.1: content is validated against the schema before it is processed."""
    context = v10.name()
    good = v10.message("hello", contextId=context)

    def changed(**members: Any) -> Json:
        return good | {"message": good["message"] | members}

    wrong: list[Json] = [
        {},
        {"message": None},
        {"message": []},
        changed(parts="hello"),
        changed(parts=[{"text": 1}]),
        changed(parts=[{"text": "a", "url": "https://example.org/b"}]),
        changed(parts=[{"filename": "a"}]),
        changed(parts=[{"raw": "not base64!"}]),
        changed(role="ROLE_AGENT"),
        changed(role="user"),
        changed(messageId=1),
        changed(taskId=1),
        changed(contextId=[]),
        changed(metadata=[]),
        changed(referenceTaskIds="t"),
        changed(extensions="x"),
        good | {"configuration": []},
        good | {"configuration": {"historyLength": -1}},
        good | {"configuration": {"historyLength": "many"}},
        good | {"configuration": {"returnImmediately": "maybe"}},
        good | {"configuration": {"taskPushNotificationConfig": {"url": "nonsense"}}},
        good | {"configuration": {"taskPushNotificationConfig": {}}},
        good | {"metadata": "x"},
    ]
    assert await v10.taken("SendMessage", wrong) == []
    assert (await v10.result("ListTasks", {"contextId": context}))["tasks"] == []
    assert v10.script.turns[context] == []


@pytest.mark.parametrize("member", ["messageId", "role", "parts"])
async def test_a_message_has_its_required_members(v10: Speaker, member: str) -> None:
    """1.0 §5.7: required members are there, and required arrays have an element: a message without is refused."""
    params = v10.message("hello")
    without = {name: value for name, value in params["message"].items() if name != member}
    for message in (without, without | {member: [] if member == "parts" else ""}):
        assert await v10.code("SendMessage", {"message": message}) == -32602


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "SubscribeToTask", "ListTaskPushNotificationConfigs"])
async def test_what_is_not_there_is_not_found(v10: Speaker, method: str) -> None:
    """1.0 §3.3.2: a resource that does not exist is a not-found error."""
    params = {"taskId" if "Push" in method else "id": "nope"}
    assert await v10.code(method, params) == -32001


async def everything(speaker: Speaker) -> list[Any]:
    """Answers of many kinds."""
    asked = await speaker.send("busy ask")
    done = await speaker.send("hello result", taskId=asked["id"])
    config = {"taskId": done["id"], "url": "http://127.0.0.1:9/hook", "authentication": {"scheme": "Bearer"}}
    return [
        asked,
        done,
        await speaker.result("SendMessage", speaker.message("reply")),
        await speaker.result("GetTask", {"id": done["id"]}),
        await speaker.result("ListTasks", {"includeArtifacts": True, "historyLength": 5}),
        await speaker.result("CreateTaskPushNotificationConfig", config),
        await speaker.result("ListTaskPushNotificationConfigs", {"taskId": done["id"]}),
        await speaker.results("SendStreamingMessage", speaker.message("busy hello result")),
        await speaker.error("GetTask", {"id": "nope"}),
        (await speaker.client.http.get(speaker.client.url + "/.well-known/agent-card.json")).json(),
    ]


async def test_members_are_in_camel_case(v10: Speaker) -> None:
    """1.0 §5.5: names of members are in camelCase."""
    names = members_in(await everything(v10)) - {"@type"}
    assert {name for name in names if not re.fullmatch(r"[a-z][a-zA-Z0-9]*", name)} == set()


async def test_enums_are_their_names(v10: Speaker) -> None:
    """1.0 §5.5: values of enums are their names in the proto file."""
    text = json.dumps(await everything(v10))
    states = {"SUBMITTED", "WORKING", "COMPLETED", "FAILED", "CANCELED", "INPUT_REQUIRED", "REJECTED", "AUTH_REQUIRED"}
    assert set(re.findall(r'"state": "(.*?)"', text)) <= {"TASK_STATE_" + state for state in states}
    assert set(re.findall(r'"role": "(.*?)"', text)) == {"ROLE_USER", "ROLE_AGENT"}


async def test_times_are_in_utc(v10: Speaker) -> None:
    """1.0 §5.6.1: times are ISO 8601 in UTC, with the suffix Z and no other offset."""
    times = re.findall(r'"timestamp": "(.*?)"', json.dumps(await everything(v10)))
    assert times
    assert [time for time in times if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z", time)] == []


async def test_objects_have_their_required_members(v10: Speaker) -> None:
    """1.0 §4.1: tasks, statuses, messages and artifacts have their required members."""
    asked = await v10.send("ask")
    task = await v10.send("hello result", taskId=asked["id"])
    reply = (await v10.result("SendMessage", v10.message("reply")))["message"]
    messages = [reply, asked["status"]["message"], *task["history"]]
    assert all(task[name] for name in ("id", "status"))
    assert all(each["messageId"] and each["role"] and each["parts"] for each in messages)
    assert [each["role"] for each in messages[:2]] == ["ROLE_AGENT", "ROLE_AGENT"]
    assert all(artifact["artifactId"] and artifact["parts"] for artifact in task["artifacts"])
    contents = [part for each in [*messages, *task["artifacts"]] for part in each["parts"]]
    assert all(len({"text", "raw", "url", "data"} & set(part)) == 1 for part in contents)


async def test_text_is_utf_8(v10: Speaker) -> None:
    """1.0 §14.1.1: JSON is in UTF-8."""
    assert (await v10.post(b'{"jsonrpc":"2.0","id":"\xe9"}')).json()["error"]["code"] == -32700
    response = await v10.post(json.dumps(request("SendMessage", v10.message("grüße")), ensure_ascii=False).encode())
    task = json.loads(response.content.decode("utf-8"))["result"]["task"]
    assert task["artifacts"][0]["parts"][0]["text"] == "grüße "


async def test_a_reference_makes_the_server_fetch_nothing(v10: Speaker) -> None:
    """1.0 §14.1.1: a reference to a file cannot be used to have the server ask other servers."""
    asked: list[asyncio.StreamReader] = []

    def came(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(reader)
        writer.close()

    server = await asyncio.start_server(came, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/file"
        task = await v10.send("", parts=[{"text": "hello"}, {"url": url, "mediaType": "text/plain"}])
        assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    for reference in ("file:///etc/passwd", "workspace:/workspace/../../etc/passwd"):
        answer = await v10.envelope("SendMessage", v10.message("", parts=[{"url": reference}]))
        assert "root:" not in json.dumps(answer)
        assert answer.get("error", {}).get("code", -32602) == -32602
    assert asked == []
