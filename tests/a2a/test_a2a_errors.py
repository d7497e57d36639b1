"""Every mistake has its code, in both versions."""

import json
from typing import Any

from tests.a2a.harness import message, running, tell

from holdfast.store import Store

OK = message("hello")
NEW = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}


def changed(params: dict[str, Any], **members: Any) -> dict[str, Any]:
    return params | {"message": params["message"] | members}


ENVELOPES = [
    (b"{", -32700, None),
    (b'{"a":1,"a":2}', -32700, None),
    (b"\xff", -32700, None),
    (b"[]", -32600, None),
    (b"{}", -32600, None),
    (b'{"jsonrpc":"1.0","id":1,"method":"tasks/get"}', -32600, 1),
    (b'{"jsonrpc":"2.0","id":{},"method":"tasks/get"}', -32600, None),
    (b'{"jsonrpc":"2.0","method":"tasks/get"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":1,"method":2}', -32600, 1),
    (b'{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":[]}', -32602, 1),
]


async def test_an_envelope_that_is_none(store: Store) -> None:
    got = []
    async with running(store, tell) as client:
        for body, _, _ in ENVELOPES:
            response = await client.post(body)
            assert response.status_code == 200
            got.append((body, response.json()["error"]["code"], response.json()["id"]))
    assert got == ENVELOPES


REQUESTS: list[tuple[str, dict[str, Any], str | None, int]] = [
    ("message/nope", {}, None, -32601),
    ("Nope", {}, "1.0", -32601),
    ("message/send", OK, "1.0", -32601),
    ("SendMessage", NEW, None, -32009),
    ("SendMessage", NEW, "0.3", -32009),
    ("SendMessage", NEW, "2.0", -32009),
    ("message/send", OK, "0.2", -32009),
    ("message/send", {}, None, -32602),
    ("message/send", changed(OK, messageId=1), None, -32602),
    ("message/send", changed(OK, role="agent"), None, -32602),
    ("message/send", changed(OK, parts=[]), None, -32602),
    ("message/send", changed(OK, parts=[{"kind": "nope"}]), None, -32602),
    ("message/send", changed(OK, parts=[{"kind": "file", "file": {"name": "a"}}]), None, -32602),
    ("message/send", changed(OK, contextId="x" * 600), None, -32602),
    ("message/send", changed(OK, contextId="a\0b"), None, -32602),
    ("message/send", changed(OK, taskId="nope"), None, -32001),
    ("SendMessage", changed(NEW, parts=[{"text": "a", "url": "b"}]), "1.0", -32602),
    ("SendMessage", changed(NEW, parts=[{"mediaType": "text/plain"}]), "1.0", -32602),
    ("SendMessage", changed(NEW, taskId="nope"), "1.0", -32001),
    ("tasks/get", {"id": "nope"}, None, -32001),
    ("tasks/get", {"id": "a\0b"}, None, -32602),
    ("GetTask", {"id": "nope"}, "1.0", -32001),
    ("GetTask", {"id": "nope", "historyLength": -1}, "1.0", -32602),
    ("GetTask", {}, "1.0", -32602),
    ("tasks/cancel", {"id": "nope"}, None, -32001),
    ("message/stream", OK, None, -32004),
    ("tasks/resubscribe", {"id": "nope"}, None, -32004),
    ("tasks/pushNotificationConfig/set", {}, None, -32003),
    ("SendStreamingMessage", NEW, "1.0", -32004),
    ("SubscribeToTask", {"id": "nope"}, "1.0", -32004),
    ("ListTasks", {}, "1.0", -32004),
    ("CreateTaskPushNotificationConfig", {}, "1.0", -32003),
    ("GetExtendedAgentCard", {}, "1.0", -32004),
]


async def test_a_request_that_cannot_be_met(store: Store) -> None:
    async with running(store, tell) as client:
        got = [
            (method, params, version, (await client.call(method, params, version))["error"]["code"])
            for method, params, version, _ in REQUESTS
        ]
    assert got == REQUESTS


async def test_an_error_of_a2a_carries_its_name(store: Store) -> None:
    async with running(store, tell) as client:
        error = (await client.call("GetTask", {"id": "nope"}, "1.0"))["error"]
    assert error["data"] == [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "TASK_NOT_FOUND",
            "domain": "a2a-protocol.org",
            "metadata": {"taskId": "nope"},
        }
    ]


async def test_the_version_may_be_in_the_query(store: Store) -> None:
    async with running(store, tell) as client:
        request = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "nope"}}
        response = await client.http.post(client.url + "/a2a?A2A-Version=1.0", json=request)
    assert response.json()["error"]["code"] == -32001


async def test_a_body_without_end_is_refused(store: Store) -> None:
    async with running(store, tell) as client:
        response = await client.post(json.dumps(message("x" * (16 << 20))).encode())
    assert response.status_code == 413
    assert response.json()["error"]["code"] == -32600
