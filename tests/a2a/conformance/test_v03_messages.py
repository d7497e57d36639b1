"""Version 0.3: messages, and the tasks that they begin or go on with."""

import pytest
from tests.a2a.conformance.speaker import Speaker

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(("text", "kind"), [("hello", "task"), ("fail", "task"), ("ask", "task"), ("reply", "message")])
async def test_a_message_is_answered_by_a_task_or_a_message(v03: Speaker, text: str, kind: str) -> None:
    """0.3 §7.1: message/send answers with a task or a message."""
    assert (await v03.result("message/send", v03.message(text)))["kind"] == kind


async def test_who_waits_gets_the_ended_task(v03: Speaker) -> None:
    """0.3 §7.1.1: with blocking the answer waits for the task, else it does not."""
    context = v03.name()
    assert (await v03.send("hello"))["status"]["state"] == "completed"
    task = await v03.start("hold", contextId=context)
    assert task["status"]["state"] in {"submitted", "working"}
    v03.script.let(context)
    assert (await v03.client.ended(task["id"]))["status"]["state"] == "completed"


@pytest.mark.parametrize("method", ["message/send", "message/stream"])
@pytest.mark.parametrize("text", ["hello", "fail", "refuse", "hold"])
async def test_an_ended_task_takes_no_message(v03: Speaker, method: str, text: str) -> None:
    """0.3 §7.1: a message to an ended task is an error.
    0.3 §7.2: so it is if it asks for a stream."""
    task = await (v03.start(text) if text == "hold" else v03.send(text))
    if text == "hold":
        task = await v03.result("tasks/cancel", {"id": task["id"]})
    assert await v03.code(method, v03.message("more", taskId=task["id"])) == -32004
    assert await v03.result("tasks/get", {"id": task["id"]}) == task


async def test_a_task_goes_on_with_its_next_message(v03: Speaker) -> None:
    """0.3 §6.4: a message that names a task is that task's; an unknown task is TaskNotFoundError."""
    asked = await v03.send("ask")
    task = await v03.send("hello", taskId=asked["id"], contextId=asked["contextId"])
    assert (task["id"], task["contextId"]) == (asked["id"], asked["contextId"])
    assert await v03.code("message/send", v03.message("hello", taskId="mine")) == -32001


async def test_a_task_is_found_as_it_stands(v03: Speaker) -> None:
    """0.3 §7.3: tasks/get returns the task as it is now, with no more history than asked for."""
    task = await v03.send("ask")
    await v03.send("hello", taskId=task["id"])
    for most in (0, 1, 2):
        found = await v03.result("tasks/get", {"id": task["id"], "historyLength": most})
        assert found["status"]["state"] == "completed"
        assert len(found.get("history", [])) <= most
    assert await v03.code("tasks/get", {"id": "nope"}) == -32001


async def test_a_task_is_cancelled(v03: Speaker) -> None:
    """0.3 §7.4: tasks/cancel returns the task, cancelled; an ended one is TaskNotCancelableError."""
    task = await v03.start("hold")
    assert (await v03.result("tasks/cancel", {"id": task["id"]}))["status"]["state"] == "canceled"
    assert await v03.code("tasks/cancel", {"id": task["id"]}) == -32002
    assert await v03.code("tasks/cancel", {"id": "nope"}) == -32001


async def test_extensions_that_are_not_known_are_no_mistake(v03: Speaker) -> None:
    """0.3 §3.4.3: what is added to the protocol does not break clients, and clients' extensions break nothing here."""
    unknown = "https://extensions.example/geolocation/v1"
    params = v03.message("hello", extensions=[unknown], metadata={unknown: 1}, somethingNew=1)
    assert (await v03.envelope("message/send", params, X_A2A_Extensions=unknown))["result"]["kind"] == "task"
