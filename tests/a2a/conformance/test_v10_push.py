"""Version 1.0: push notifications."""

import logging

import pytest
from tests.a2a.conformance.speaker import Json, Speaker
from tests.support.scripted_server import Answer, ScriptedServer

pytestmark = pytest.mark.asyncio(loop_scope="module")


def at(hook: ScriptedServer, task: Json, path: str = "/hook", **more: object) -> Json:
    """The params of a configuration."""
    return {"taskId": task["id"], "url": f"http://127.0.0.1:{hook.port}{path}"} | more


async def ended(hook: ScriptedServer, path: str = "/hook") -> list[Json]:
    """What was posted to a path, once the end of a task was."""

    def posted() -> list[Json]:
        return [each.body for each in hook.requests if each.target == path]

    await hook.wait_for(lambda: any("TASK_STATE_COMPLETED" in str(body) for body in posted()))
    return posted()


async def test_a_configuration_is_made_and_used(v10: Speaker, hook: ScriptedServer) -> None:
    """1.0 §3.1.7: CreateTaskPushNotificationConfig has the task's news posted to the address, and returns an id."""
    task = await v10.start("hold done")
    made = await v10.result("CreateTaskPushNotificationConfig", at(hook, task))
    assert made["id"]
    assert (made["taskId"], made["url"]) == (task["id"], at(hook, task)["url"])
    v10.script.let(task["contextId"])
    assert await ended(hook)


async def test_a_configuration_lasts_as_long_as_its_task(v10: Speaker, hook: ScriptedServer) -> None:
    """1.0 §3.1.7: a configuration stays until its task has ended, through interruptions too."""
    task = await v10.send("ask")
    made = await v10.result("CreateTaskPushNotificationConfig", at(hook, task, id="mine"))
    await v10.send("ask", taskId=task["id"])
    assert await v10.result("GetTaskPushNotificationConfig", {"taskId": task["id"], "id": "mine"}) == made
    await v10.send("hello", taskId=task["id"])
    assert await ended(hook)


async def test_a_configuration_comes_with_a_message(v10: Speaker, hook: ScriptedServer) -> None:
    """1.0 §3.2.2: a configuration that comes with a message is the new task's, whether the client waits or not."""
    config = {"taskPushNotificationConfig": {"url": f"http://127.0.0.1:{hook.port}/inline"}}
    await v10.result("SendMessage", v10.message("hello", config))
    assert await ended(hook, "/inline")


async def test_a_configuration_of_no_task_is_refused(v10: Speaker, hook: ScriptedServer) -> None:
    """1.0 §3.1.7: a configuration for a task that does not exist is TaskNotFoundError."""
    assert await v10.code("CreateTaskPushNotificationConfig", at(hook, {"id": "nope"})) == -32001


async def test_a_configuration_is_shown(v10: Speaker, hook: ScriptedServer) -> None:
    """1.0 §3.1.8: GetTaskPushNotificationConfig returns the address and the settings."""
    task = await v10.send("ask")
    params = at(hook, task, id="mine", token="t0k", authentication={"scheme": "Bearer", "credentials": "s3cret"})
    made = await v10.result("CreateTaskPushNotificationConfig", params)
    found = await v10.result("GetTaskPushNotificationConfig", {"taskId": task["id"], "id": "mine"})
    assert found == made
    assert (found["id"], found["taskId"], found["url"]) == ("mine", task["id"], params["url"])
    assert found["authentication"]["scheme"] == "Bearer"


async def test_a_configuration_that_is_not_there_is_not_shown(v10: Speaker, hook: ScriptedServer) -> None:
    """1.0 §3.1.8: GetTaskPushNotificationConfig fails if there is no such configuration."""
    task, other = await v10.send("ask"), await v10.send("ask")
    await v10.result("CreateTaskPushNotificationConfig", at(hook, other, id="mine"))
    assert await v10.code("GetTaskPushNotificationConfig", {"taskId": task["id"], "id": "mine"}) == -32001
    assert await v10.code("GetTaskPushNotificationConfig", {"taskId": "nope", "id": "mine"}) == -32001


async def test_all_configurations_are_listed(v10: Speaker, hook: ScriptedServer) -> None:
    """1.0 §3.1.9: ListTaskPushNotificationConfigs returns all that the task has."""
    task = await v10.send("ask")
    made = [await v10.result("CreateTaskPushNotificationConfig", at(hook, task, id=name)) for name in "abc"]
    found = await v10.result("ListTaskPushNotificationConfigs", {"taskId": task["id"]})
    assert sorted(found["configs"], key=lambda config: str(config["id"])) == made
    assert not found.get("nextPageToken")
    assert await v10.code("ListTaskPushNotificationConfigs", {"taskId": "nope"}) == -32001


async def test_a_configuration_is_deleted_for_good(v10: Speaker, hook: ScriptedServer) -> None:
    """1.0 §3.1.10: what DeleteTaskPushNotificationConfig deletes is gone, and is posted to no more."""
    task = await v10.send("ask")
    for name in ("gone", "kept"):
        await v10.result("CreateTaskPushNotificationConfig", at(hook, task, "/" + name, id=name))
    await v10.result("DeleteTaskPushNotificationConfig", {"taskId": task["id"], "id": "gone"})
    assert await v10.code("GetTaskPushNotificationConfig", {"taskId": task["id"], "id": "gone"}) == -32001
    await v10.send("hello", taskId=task["id"])
    assert await ended(hook, "/kept")
    assert {posted.target for posted in hook.requests} == {"/kept"}


async def test_deleting_again_is_the_same(v10: Speaker, hook: ScriptedServer) -> None:
    """1.0 §3.1.10: deleting a configuration again has the same effect as once."""
    task = await v10.send("ask")
    await v10.result("CreateTaskPushNotificationConfig", at(hook, task, id="mine"))
    gone = {"taskId": task["id"], "id": "mine"}
    first = await v10.result("DeleteTaskPushNotificationConfig", gone)
    assert await v10.result("DeleteTaskPushNotificationConfig", gone) == first
    assert await v10.code("DeleteTaskPushNotificationConfig", {"taskId": "nope", "id": "mine"}) == -32001


async def test_notifications_carry_their_credentials(v10: Speaker, hook: ScriptedServer) -> None:
    """1.0 §4.3.3: a notification carries the credentials of its configuration.
    1.0 §13.2: a notification carries the credentials of its configuration."""
    task = await v10.send("ask")
    auth = {"scheme": "Bearer", "credentials": "s3cret"}
    await v10.result("CreateTaskPushNotificationConfig", at(hook, task, authentication=auth))
    await v10.send("hello", taskId=task["id"])
    await ended(hook)
    assert {posted.headers["authorization"] for posted in hook.requests} == {"Bearer s3cret"}


async def test_every_configuration_is_posted_to(v10: Speaker, hook: ScriptedServer) -> None:
    """1.0 §4.3.3: delivery is tried at least once for each configuration, and again after a failure."""
    task = await v10.send("ask")
    hook.answers = [Answer(status=500)]
    for name in "ab":
        await v10.result("CreateTaskPushNotificationConfig", at(hook, task, "/" + name, id=name))
    await v10.send("hello", taskId=task["id"])
    assert await ended(hook, "/a")
    assert await ended(hook, "/b")


async def test_a_notification_is_an_event_of_a_stream(v10: Speaker, hook: ScriptedServer) -> None:
    """1.0 §4.3.3: the body of a notification is one event as streams have them, plain JSON as in the HTTP binding."""
    task = await v10.send("ask")
    await v10.result("CreateTaskPushNotificationConfig", at(hook, task))
    await v10.send("hello result", taskId=task["id"])
    bodies = await ended(hook)
    assert all(len(body) == 1 for body in bodies)
    assert {next(iter(body)) for body in bodies} <= {"task", "message", "statusUpdate", "artifactUpdate"}
    told = [next(iter(body.values())) for body in bodies]
    assert {each.get("taskId", each.get("id")) for each in told} == {task["id"]}
    assert {posted.headers["content-type"] for posted in hook.requests} == {"application/a2a+json"}


async def test_credentials_are_in_no_log(v10: Speaker, hook: ScriptedServer, caplog: pytest.LogCaptureFixture) -> None:
    """1.0 §13.4: credentials are secrets: logs do not have them, not even when a delivery fails."""
    caplog.set_level(logging.DEBUG)
    task = await v10.send("ask")
    hook.answers = [Answer(status=400)] * 9
    auth = {"scheme": "Bearer", "credentials": "s3cret-of-the-hook"}
    await v10.result("CreateTaskPushNotificationConfig", at(hook, task, token="t0ken-of-it", authentication=auth))
    await v10.send("hello", taskId=task["id"])
    await ended(hook)
    assert "s3cret-of-the-hook" not in caplog.text
    assert "t0ken-of-it" not in caplog.text
