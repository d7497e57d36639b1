"""Version 0.3: push notifications."""

import pytest
from tests.a2a.conformance.speaker import Json, Speaker
from tests.support.scripted_server import ScriptedServer

pytestmark = pytest.mark.asyncio(loop_scope="module")


def at(hook: ScriptedServer, task: Json, **more: object) -> Json:
    """The params of a configuration."""
    return {"taskId": task["id"], "pushNotificationConfig": {"url": f"http://127.0.0.1:{hook.port}/hook"} | more}


async def test_a_configuration_is_set_and_used(v03: Speaker, hook: ScriptedServer) -> None:
    """0.3 §7.5: tasks/pushNotificationConfig/set has the task posted to the address, with its credentials."""
    task = await v03.send("ask")
    auth = {"schemes": ["Bearer"], "credentials": "s3cret"}
    params = at(hook, task, id="mine", token="t0k", authentication=auth)
    made = await v03.result("tasks/pushNotificationConfig/set", params)
    assert made["taskId"] == task["id"]
    assert (made["pushNotificationConfig"]["id"], made["pushNotificationConfig"]["url"]) == (
        "mine",
        params["pushNotificationConfig"]["url"],
    )
    await v03.send("hello", taskId=task["id"])
    await hook.wait_for(lambda: any(each.body["status"]["state"] == "completed" for each in hook.requests))
    assert {each.headers["authorization"] for each in hook.requests} == {"Bearer s3cret"}
    assert {(each.body["kind"], each.body["id"]) for each in hook.requests} == {("task", task["id"])}


async def test_a_configuration_is_shown_listed_and_deleted(v03: Speaker, hook: ScriptedServer) -> None:
    """0.3 §7.6: tasks/pushNotificationConfig/get returns a configuration, with or without its id.
    0.3 §7.7: tasks/pushNotificationConfig/list returns a list of them.
    0.3 §7.8: tasks/pushNotificationConfig/delete returns null, and the configuration is gone."""
    task = await v03.send("ask")
    bare = await v03.result("tasks/pushNotificationConfig/set", at(hook, task))
    made = await v03.result("tasks/pushNotificationConfig/set", at(hook, task, id="mine"))
    mine = {"id": task["id"], "pushNotificationConfigId": "mine"}
    assert await v03.result("tasks/pushNotificationConfig/get", mine) == made
    assert await v03.result("tasks/pushNotificationConfig/get", {"id": task["id"]}) == bare
    listed = await v03.result("tasks/pushNotificationConfig/list", {"id": task["id"]})
    assert sorted(listed, key=str) == sorted([bare, made], key=str)
    assert await v03.result("tasks/pushNotificationConfig/delete", mine) is None
    assert await v03.code("tasks/pushNotificationConfig/get", mine) == -32001
    assert await v03.result("tasks/pushNotificationConfig/list", {"id": task["id"]}) == [bare]


@pytest.mark.parametrize("method", ["set", "get", "list", "delete"])
async def test_a_configuration_of_no_task(v03: Speaker, hook: ScriptedServer, method: str) -> None:
    """0.3 §8.2: a configuration of a task that does not exist is TaskNotFoundError."""
    params = at(hook, {"id": "nope"}) if method == "set" else {"id": "nope", "pushNotificationConfigId": "p"}
    assert await v03.code("tasks/pushNotificationConfig/" + method, params) == -32001
