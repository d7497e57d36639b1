"""Every mistake has its code, in both versions."""

import base64
import json
from typing import Any

from tests.a2a.harness import message, running, tell

from holdfast.a2a.server import MAX_BODY
from holdfast.store import Store

OK = message("hello")
NEW = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}


URL = "https://hooks.example/1"
WITHOUT_SCHEME = {"authentication": {"credentials": "secret"}}


def file_of(media_type: str) -> dict[str, Any]:
    return {"kind": "file", "file": {"bytes": "AAE=", "mimeType": media_type}}


def config_of(task_id: str, url: str, **more: Any) -> dict[str, Any]:
    return {"taskId": task_id, "pushNotificationConfig": {"url": url} | more}


def token(place: str) -> str:
    return base64.urlsafe_b64encode(place.encode()).decode()


def configured(**urls: str) -> dict[str, Any]:
    return {"configuration": {name: {"url": url} for name, url in urls.items()}}


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
    (b'{"jsonrpc":"2.0","method":"tasks/get"}', -32602, None),
    (b'{"jsonrpc":"2.0","method":"tasks/get","params":{"id":"nope"}}', -32600, None),
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
    ("tasks/cancel", {}, None, -32602),
    ("message/stream", {}, None, -32602),
    ("message/stream", changed(OK, taskId="nope"), None, -32001),
    ("tasks/resubscribe", {"id": "nope"}, None, -32001),
    ("tasks/list", {}, None, -32601),
    ("tasks/pushNotificationConfig/set", {}, None, -32602),
    ("tasks/pushNotificationConfig/set", {"taskId": "nope", "pushNotificationConfig": {"url": URL}}, None, -32001),
    ("tasks/pushNotificationConfig/get", {"id": "nope"}, None, -32001),
    ("tasks/pushNotificationConfig/list", {"id": "nope"}, None, -32001),
    ("tasks/pushNotificationConfig/delete", {"id": "nope", "pushNotificationConfigId": "p"}, None, -32001),
    ("SendStreamingMessage", {}, "1.0", -32602),
    ("SendStreamingMessage", changed(NEW, taskId="nope"), "1.0", -32001),
    ("SubscribeToTask", {"id": "nope"}, "1.0", -32001),
    ("SubscribeToTask", {}, "1.0", -32602),
    ("ListTasks", {"pageSize": 0}, "1.0", -32602),
    ("ListTasks", {"pageSize": 101}, "1.0", -32602),
    ("ListTasks", {"pageToken": "nope"}, "1.0", -32602),
    ("ListTasks", {"pageToken": token("9" * 40 + ":t")}, "1.0", -32602),
    ("ListTasks", {"pageToken": token("1:t\0")}, "1.0", -32602),
    ("ListTasks", {"contextId": "a\0b"}, "1.0", -32602),
    ("ListTasks", {"contextId": "x" * 600}, "1.0", -32602),
    ("ListTasks", {"status": "nope"}, "1.0", -32602),
    ("ListTasks", {}, None, -32009),
    ("CreateTaskPushNotificationConfig", {}, "1.0", -32602),
    ("CreateTaskPushNotificationConfig", {"taskId": "nope", "url": URL}, "1.0", -32001),
    ("GetTaskPushNotificationConfig", {"taskId": "nope", "id": "p"}, "1.0", -32001),
    ("ListTaskPushNotificationConfigs", {"taskId": "nope"}, "1.0", -32001),
    ("DeleteTaskPushNotificationConfig", {"taskId": "nope", "id": "p"}, "1.0", -32001),
    ("GetExtendedAgentCard", {}, None, -32009),
    ("SendMessage", changed(NEW, parts=[{"raw": "AAE=", "mediaType": "no type"}]), "1.0", -32005),
    ("message/send", changed(OK, parts=[file_of("no type")]), None, -32005),
]


async def test_a_request_that_cannot_be_met(store: Store) -> None:
    async with running(store, tell) as client:
        got = [
            (method, params, version, (await client.call(method, params, version))["error"]["code"])
            for method, params, version, _ in REQUESTS
        ]
    assert got == REQUESTS


async def test_mistakes_about_a_task_that_is_there(store: Store) -> None:
    here = "http://127.0.0.1:1/"
    async with running(store, tell) as client:
        task_id = (await client.send("hello", "c", "m1"))["id"]
        again, inline = {"messageId": "m2", "taskId": task_id}, {"messageId": "m3", "contextId": "other"}
        wrong: list[tuple[str, dict[str, Any], str | None, int]] = [
            ("message/send", changed(OK, **again, contextId="other"), None, -32602),
            ("SendMessage", changed(NEW, **again, contextId="other"), "1.0", -32602),
            ("message/stream", changed(OK, **again, contextId="other"), None, -32602),
            ("message/send", changed(OK, **again, contextId="c"), None, -32004),
            ("SendMessage", changed(NEW, **again), "1.0", -32004),
            ("SendStreamingMessage", changed(NEW, **again), "1.0", -32004),
            ("tasks/cancel", {"id": task_id}, None, -32002),
            ("CancelTask", {"id": task_id}, "1.0", -32002),
            ("tasks/resubscribe", {"id": task_id}, None, -32004),
            ("SubscribeToTask", {"id": task_id}, "1.0", -32004),
            ("CreateTaskPushNotificationConfig", {"taskId": task_id, "url": here}, "1.0", -32602),
            ("CreateTaskPushNotificationConfig", {"taskId": task_id, "url": ""}, "1.0", -32602),
            ("tasks/pushNotificationConfig/set", config_of(task_id, here), None, -32602),
            ("SendMessage", changed(NEW, **inline) | configured(taskPushNotificationConfig=here), "1.0", -32602),
            ("message/send", changed(OK, **inline) | configured(pushNotificationConfig=here), None, -32602),
            ("CreateTaskPushNotificationConfig", {"taskId": task_id, "url": URL, **WITHOUT_SCHEME}, "1.0", -32602),
            ("tasks/pushNotificationConfig/set", config_of(task_id, URL, **WITHOUT_SCHEME), None, -32602),
            ("GetTaskPushNotificationConfig", {"taskId": task_id, "id": "nope"}, "1.0", -32001),
            ("DeleteTaskPushNotificationConfig", {"taskId": task_id, "id": "a\0b"}, "1.0", -32602),
            ("tasks/pushNotificationConfig/get", {"id": task_id}, None, -32001),
            ("DeleteTaskPushNotificationConfig", {"taskId": task_id}, "1.0", -32602),
            ("tasks/pushNotificationConfig/delete", {"id": task_id}, None, -32602),
        ]
        got = [
            (method, params, version, (await client.call(method, params, version))["error"]["code"])
            for method, params, version, _ in wrong
        ]
        listed = (await client.call("ListTasks", {}, "1.0"))["result"]
    assert got == wrong
    assert [task["id"] for task in listed["tasks"]] == [task_id], "what was refused has begun nothing"


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
        response = await client.post(json.dumps(message("x" * MAX_BODY)).encode())
    assert response.status_code == 413
    assert response.json()["error"]["code"] == -32600
