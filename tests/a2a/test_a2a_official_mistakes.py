"""What the official SDK's server gets wrong on the wire, one test each."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from tests.a2a.harness import SECONDS, listening, message, running, sending, tell

from holdfast.a2a import Turn
from holdfast.a2a.handler import Output
from holdfast.a2a.protocol.wire import Artifact, DataPart
from holdfast.a2a.push.url_guard import UrlGuard
from holdfast.store import Store

NUMBERS = {"whole": 1, "real": 1.0, "large": 12345678901234567890, "small": 1e-9, "deep": [{"n": 0}]}


async def public(host: str, port: int) -> list[str]:
    """Every name is a public address: nobody is asked."""
    return ["1.1.1.1"]


@pytest.mark.parametrize("version", ["1.0", None])
async def test_a_number_in_data_keeps_its_type(store: Store, version: str | None) -> None:
    """1 comes back as 1.0."""

    async def give_back(turn: Turn) -> AsyncIterator[Output]:
        yield Artifact(tuple(part for part in turn.parts if isinstance(part, DataPart)))

    part = {"data": NUMBERS} if version else {"kind": "data", "data": NUMBERS}
    params, method = (sending, "SendMessage") if version else (message, "message/send")
    stream = "SendStreamingMessage" if version else "message/stream"
    async with running(store, give_back) as client:
        result = (await client.call(method, params("x", message_id="m1", parts=[part]), version))["result"]
        task = result["task"] if version else result
        async with client.stream(stream, params("x", message_id="m2", parts=[part]), version) as streamed:
            pieces = [item for item in await streamed.rest() if "artifact" in str(item)]
    assert repr(task["artifacts"][0]["parts"][0]["data"]) == repr(NUMBERS)
    assert repr(task["history"][0]["parts"][0]["data"]) == repr(NUMBERS)
    assert repr(NUMBERS) in repr(pieces)


async def test_bad_params_of_0_3_are_bad_params(store: Store) -> None:
    """They are an invalid request, -32600."""
    async with running(store, tell) as client:
        answers = [
            await client.call("message/send", {}),
            await client.call("message/send", {"message": {"kind": "message"}}),
            await client.call("tasks/get", {"id": 1}),
            await client.call("tasks/pushNotificationConfig/set", {"taskId": "t"}),
        ]
    assert [answer["error"]["code"] for answer in answers] == [-32602] * 4


async def test_a_method_of_0_3_in_1_0_is_no_method_rather_than_a_defect(store: Store) -> None:
    """It is an internal error, -32603."""
    async with running(store, tell) as client:
        error = (await client.call("message/send", message("hi"), "1.0"))["error"]
    assert error["code"] == -32601
    assert "0.3" in error["message"]


@pytest.mark.parametrize("version", ["1.0", None])
async def test_a_second_push_config_without_an_id_replaces_only_the_tasks_own(
    store: Store, version: str | None
) -> None:
    """It takes the place of the first, whatever that was; here those with ids of their own stay."""
    async with running(store, tell, guard=UrlGuard(resolve=public)) as client:
        task = await client.send("hi")

        async def call(verb: str, **members: Any) -> Any:
            if version:
                name = f"{verb}TaskPushNotificationConfig{'s' if verb == 'List' else ''}"
                return (await client.call(name, {"taskId": task["id"]} | members, version))["result"]
            params = {"taskId": task["id"], "pushNotificationConfig": members} if members else {"id": task["id"]}
            old = {"Create": "set", "List": "list"}[verb]
            return (await client.call(f"tasks/pushNotificationConfig/{old}", params))["result"]

        for members in ({"id": "p1", "url": 1}, {"url": 2}, {"id": "p2", "url": 3}, {"url": 4}):
            await call("Create", **members | {"url": f"https://hooks.example/{members['url']}"})
        listed = await call("List")
    configs = listed["configs"] if version else [config["pushNotificationConfig"] for config in listed]
    assert {config["id"]: config["url"][-1] for config in configs} == {"p1": "1", task["id"]: "4", "p2": "3"}


@pytest.mark.parametrize("version", ["1.0", None])
async def test_a_webhook_is_sent_the_version_that_asked_for_it(store: Store, version: str | None) -> None:
    """A 0.3 client's webhook is sent bodies of 1.0."""
    posted: asyncio.Queue[Any] = asyncio.Queue()

    async def hook(request: Request) -> Response:
        posted.put_nowait(await request.json())
        return Response()

    method, params = ("SendMessage", sending("hi")) if version else ("message/send", message("hi"))
    member = "taskPushNotificationConfig" if version else "pushNotificationConfig"
    async with listening(Starlette(routes=[Route("/", hook, methods=["POST"])])) as receiver:
        guard = UrlGuard([receiver.url.removeprefix("http://")])
        async with running(store, tell, guard=guard) as client, asyncio.timeout(SECONDS):
            await client.call(method, params | {"configuration": {member: {"url": receiver.url + "/"}}}, version)
            while "completed" not in str(body := await posted.get()).lower():
                pass
    if version:
        assert set(body) == {"statusUpdate"}
        assert body["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    else:
        assert body["kind"] == "task"
        assert body["status"]["state"] == "completed"
