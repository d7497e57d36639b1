"""What a request may look like: either spelling of a name, numbers as ProtoJSON has them, JSON and nothing else."""

import json
from typing import Any

import pytest
from tests.a2a.harness import Client, events_in, message, running, sending, tell, words

from holdfast.store import Store

WIRES = ["1.0", "0.3"]
METHODS = {
    "1.0": {"send": "SendMessage", "stream": "SendStreamingMessage", "get": "GetTask", "follow": "SubscribeToTask"},
    "0.3": {"send": "message/send", "stream": "message/stream", "get": "tasks/get", "follow": "tasks/resubscribe"},
}

pytestmark = pytest.mark.parametrize("wire", WIRES)


def said(wire: str, text: str, message_id: str, **more: Any) -> dict[str, Any]:
    """The params of a message without a context, unless `more` names one."""
    made = sending if wire == "1.0" else message
    return made(text, None, message_id, **more)


def snake(value: Any) -> Any:
    """The same params with the names of the protocol's proto file."""
    if isinstance(value, list):
        return [snake(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {"".join(f"_{c.lower()}" if c.isupper() else c for c in name): snake(each) for name, each in value.items()}


async def sent(client: Client, wire: str, params: dict[str, Any]) -> dict[str, Any]:
    """The task that a message is answered with."""
    body = await client.call(METHODS[wire]["send"], params, wire)
    assert "result" in body, body
    task: dict[str, Any] = body["result"]["task"] if wire == "1.0" else body["result"]
    return task


async def refused(client: Client, wire: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The error that a call is answered with."""
    error: dict[str, Any] = (await client.call(METHODS[wire].get(method, method), params, wire))["error"]
    return error


async def test_a_name_may_be_in_either_spelling(store: Store, wire: str) -> None:
    async with running(store, tell) as client:
        await sent(client, wire, said(wire, "my name is Ada", "m1", contextId="c"))
        task = await sent(client, wire, snake(said(wire, "my name?", "m2", contextId="c", referenceTaskIds=["t"])))
        asked = {"id": task["id"], "history_length": 0}
        got = (await client.call(METHODS[wire]["get"], asked, wire))["result"]
    assert task["contextId"] == "c"
    assert words(task) == "user:my name is Ada | agent:my name is Ada | my name?"
    assert "history" not in got


async def test_names_deeper_down_may_be_in_either_spelling(store: Store, wire: str) -> None:
    file: dict[str, Any] = {"raw": "aGk=", "media_type": "text/x-hi"}
    if wire == "0.3":
        file = {"kind": "file", "file": {"bytes": "aGk=", "mime_type": "text/x-hi"}}
    async with running(store, tell) as client:
        task = await sent(client, wire, said(wire, "", "m1", parts=[file], metadata={"a_b": {"c_d": 1}}))
    [heard] = task["history"]
    [part] = heard["parts"]
    assert part.get("mediaType", part.get("file", {}).get("mimeType")) == "text/x-hi"
    assert heard["metadata"] == {"a_b": {"c_d": 1}}, "what is the client's own is let be"


async def test_a_name_in_both_spellings_is_refused(store: Store, wire: str) -> None:
    async with running(store, tell) as client:
        for second in ("d", "c", None):
            params = said(wire, "hi", "m1", contextId="c")
            params["message"]["context_id"] = second
            error = await refused(client, wire, "send", params)
            assert error["code"] == -32602
            assert "contextId" in error["message"]
            assert "context_id" in error["message"]


SLIPS = {
    "contextId": [
        *("contextID", "context-id", "ContextId", "contextid", "Context_ID"),
        *("contexId", "conetxtId", "contextIdd", "contect_id"),
    ],
    "taskId": ["taskID", "TaskId", "task-id", "taskid", "tsakId"],
    "messageId": ["messageID", "messageid", "message-id", "mesageId"],
    "referenceTaskIds": ["reference_task_IDs"],
}


async def test_an_id_that_is_misspelt_is_refused(store: Store, wire: str) -> None:
    """Ignoring it would begin another conversation, or another task, and tell nobody."""
    async with running(store, tell) as client:
        for meant, slips in SLIPS.items():
            for slip in slips:
                error = await refused(client, wire, "send", said(wire, "hi", "m1", **{slip: "x"}))
                assert error["code"] == -32602, slip
                assert slip in error["message"]
                assert meant in error["message"]


async def test_what_nobody_knows_is_ignored(store: Store, wire: str) -> None:
    async with running(store, tell) as client:
        params = said(
            wire, "hi", "m1", contextId="c", generation=1, traceId="t", sessionId="s", idea=2, historylength=1
        )
        task = await sent(client, wire, params | {"context": {}, "newField": True})
    assert task["contextId"] == "c"


async def test_a_misspelt_id_of_a_task_or_a_push_config_is_refused(store: Store, wire: str) -> None:
    calls: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "1.0": [
            ("GetTaskPushNotificationConfig", {"taskId": "t", "ID": "p"}),
            ("ListTasks", {"contextID": "c"}),
            ("CreateTaskPushNotificationConfig", {"taskId": "t", "url": "https://a.example/", "Id": "p"}),
        ],
        "0.3": [
            ("tasks/pushNotificationConfig/get", {"id": "t", "pushNotificationConfigID": "p"}),
            ("tasks/pushNotificationConfig/set", {"taskId": "t", "pushNotificationConfig": {"url": "x", "ID": "p"}}),
        ],
    }
    async with running(store, tell) as client:
        for method, params in calls[wire]:
            error = await refused(client, wire, method, params)
            assert error["code"] == -32602, (method, error)
            assert "misspelt" in error["message"], (method, error)


async def test_whole_numbers(store: Store, wire: str) -> None:
    """ProtoJSON allows text and any way to write a number; in 0.3, which is plain JSON, 1.0 is a whole number too."""
    fine: list[Any] = [1, 1.0, 10e-1] + (["1", "1.0", "10e-1", "1E0"] if wire == "1.0" else [])
    wrong: list[Any] = [1.5, True, "", "one", " 1", "0x1", -1, 1e400, "1e400", "-1", "1_0", "NaN", [1]]
    async with running(store, tell) as client:
        task_id = (await sent(client, wire, said(wire, "hi", "m1")))["id"]
        for number in fine:
            body = await client.call(METHODS[wire]["get"], {"id": task_id, "historyLength": number}, wire)
            assert len(body["result"]["history"]) == 1, (number, body)
        for number in wrong + (["1"] if wire == "0.3" else []):
            if number == 1e400:
                continue  # no JSON
            error = await refused(client, wire, "get", {"id": task_id, "historyLength": number})
            assert error["code"] == -32602, number


async def test_enums_by_their_numbers(store: Store, wire: str) -> None:
    async with running(store, tell) as client:
        no_user: list[Any] = [2, 0, 3, -1, True, "1", "USER", None]
        for wrong in no_user:
            assert (await refused(client, wire, "send", said(wire, "hi", "m", role=wrong)))["code"] == -32602, wrong
        if wire == "0.3":  # plain JSON: there are names and no numbers
            assert (await refused(client, wire, "send", said(wire, "hi", "m", role=1)))["code"] == -32602
            return
        task = await sent(client, wire, said(wire, "hi", "m1", role=1, contextId="c"))
        found = {}
        for status in range(9):
            found[status] = (await client.call("ListTasks", {"status": status}, wire))["result"]["totalSize"]
        no_state: list[Any] = [9, -1, 1.5, True]
        for wrong in no_state:
            assert (await refused(client, wire, "ListTasks", {"status": wrong}))["code"] == -32602, wrong
    assert task["contextId"] == "c"
    assert found == dict.fromkeys(range(9), 0) | {0: 1, 3: 1}, "unspecified means any, 3 is completed"


JSON_TYPES = [
    *("application/json", "Application/JSON; charset=utf-8", "application/a2a+json", "application/json ;x=y"),
]
OTHER_TYPES = [
    *("application/x-www-form-urlencoded", "text/plain", "text/plain;application/json", "application/jsonp", "", None),
    *("multipart/form-data; boundary=application/json", "application/json, text/plain"),
]


async def test_a_request_says_that_it_is_json(store: Store, wire: str) -> None:
    """What is not said to be JSON, any page in a browser could have sent without being asked whether it may."""
    call = {"jsonrpc": "2.0", "id": "r1", "method": METHODS[wire]["send"], "params": said(wire, "hi", "m1")}
    body = json.dumps(call).encode()
    async with running(store, tell) as client:
        for kind in OTHER_TYPES:
            headers = {"A2A-Version": wire} | ({} if kind is None else {"Content-Type": kind})
            answer = await client.http.post(client.url + "/a2a", content=body, headers=headers)
            error = answer.json()["error"]
            assert (answer.status_code, error["code"], answer.json()["id"]) == (415, -32005, None), kind
            assert error["data"][0]["reason"] == "CONTENT_TYPE_NOT_SUPPORTED"
            assert "application/json" in error["message"]
        assert (await client.call("ListTasks", {}, "1.0"))["result"]["totalSize"] == 0, "nothing was begun"
        for kind in JSON_TYPES:
            headers = {"A2A-Version": wire, "Content-Type": kind}
            answer = await client.http.post(client.url + "/a2a", content=body, headers=headers)
            assert "result" in answer.json(), kind


async def test_two_types_are_none(store: Store, wire: str) -> None:
    call = {"jsonrpc": "2.0", "id": "r1", "method": METHODS[wire]["get"], "params": {"id": "nope"}}
    headers = [("A2A-Version", wire), ("Content-Type", "application/json"), ("Content-Type", "text/plain")]
    async with running(store, tell) as client:
        answer = await client.http.post(client.url + "/a2a", content=json.dumps(call).encode(), headers=headers)
    assert answer.json()["error"]["code"] == -32005


async def test_a_slash_at_the_end_makes_no_other_place(store: Store, wire: str) -> None:
    call = {"jsonrpc": "2.0", "id": "r1", "method": METHODS[wire]["send"], "params": said(wire, "hi", "m1")}
    async with running(store, tell) as client:
        answer = await client.http.post(client.url + "/a2a/", json=call, headers={"A2A-Version": wire})
    assert answer.status_code == 200
    assert "result" in answer.json()


async def test_an_answer_is_a_whole_line(store: Store, wire: str) -> None:
    call = {"jsonrpc": "2.0", "id": "r1", "method": METHODS[wire]["send"], "params": said(wire, "hi", "m1")}
    headers = {"A2A-Version": wire}
    async with running(store, tell) as client:
        answers = [await client.http.post(client.url + "/a2a", json=each, headers=headers) for each in (call, {})]
        answers.append(await client.http.get(client.url + "/.well-known/agent-card.json"))
    assert [answer.content[-2:] for answer in answers] == [b"}\n"] * 3


async def test_a_request_without_an_id_gets_the_error_of_what_is_wrong_with_it(store: Store, wire: str) -> None:
    method = METHODS[wire]
    wrong: list[tuple[dict[str, Any], int]] = [
        ({"jsonrpc": "1.0", "method": method["send"], "params": {}}, -32600),
        ({"jsonrpc": "2.0", "params": {}}, -32600),
        ({"jsonrpc": "2.0", "method": "message/ssend", "params": {}}, -32601),
        ({"jsonrpc": "2.0", "method": method["send"], "params": {"": "no"}}, -32602),
        ({"jsonrpc": "2.0", "method": method["send"], "params": []}, -32602),
        ({"jsonrpc": "2.0", "method": method["get"]}, -32602),
        ({"jsonrpc": "2.0", "method": method["send"], "params": {}, "id": {"bad": "type"}}, -32600),
    ]
    async with running(store, tell) as client:
        for call, code in wrong:
            answer = await client.post(json.dumps(call).encode(), wire)
            assert (answer.status_code, answer.json()["error"]["code"]) == (200, code), call
            assert answer.json()["id"] is None
        whole = {"jsonrpc": "2.0", "method": method["send"], "params": said(wire, "hi", "m1")}
        answer = await client.post(json.dumps(whole).encode(), wire)
        listed = (await client.call("ListTasks", {}, "1.0"))["result"]["totalSize"]
    assert answer.json()["error"]["code"] == -32600
    assert '"id"' in answer.json()["error"]["message"]
    assert listed == 0, "what could not be answered is not begun"


async def test_an_error_before_a_stream_begins(store: Store, wire: str) -> None:
    """In 0.3 what a streaming method answers is a stream, whatever it says; in 1.0 the error is an answer like any."""
    wrong = [
        ("stream", {}, -32602),
        ("stream", said(wire, "hi", "m1", taskId="nope"), -32001),
        ("follow", {"id": "nope"}, -32001),
        ("follow", [], -32602),
    ]
    async with running(store, tell) as client:
        for name, params, code in wrong:
            call = {"jsonrpc": "2.0", "id": "r1", "method": METHODS[wire][name], "params": params}
            answer = await client.post(json.dumps(call).encode(), wire)
            kind = answer.headers["content-type"]
            assert answer.status_code == 200
            if wire == "1.0":
                assert kind == "application/json"
                body = answer.json()
            else:
                assert kind.startswith("text/event-stream"), (name, params)
                [data] = events_in(answer.text)
                body = json.loads(data)
            assert (body["id"], body["error"]["code"]) == ("r1", code)
