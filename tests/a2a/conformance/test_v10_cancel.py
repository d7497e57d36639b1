"""Version 1.0: tasks that are cancelled."""

import pytest
from tests.a2a.conformance.speaker import Speaker

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("text", ["hold", "ask"])
async def test_a_task_is_cancelled(v10: Speaker, text: str) -> None:
    """1.0 §3.1.5: CancelTask returns the task, cancelled."""
    task = await (v10.start(text) if text == "hold" else v10.send(text))
    canceled = await v10.result("CancelTask", {"id": task["id"]})
    assert (canceled["id"], canceled["contextId"]) == (task["id"], task["contextId"])
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    assert await v10.result("GetTask", {"id": task["id"]}) == canceled


@pytest.mark.parametrize("text", ["hello", "fail", "refuse"])
async def test_an_ended_task_is_not_cancelled(v10: Speaker, text: str) -> None:
    """1.0 §3.1.5: cancelling an ended task is TaskNotCancelableError."""
    task = await v10.send(text)
    assert await v10.code("CancelTask", {"id": task["id"]}) == -32002
    assert await v10.result("GetTask", {"id": task["id"]}) == task


async def test_cancelling_again_changes_nothing(v10: Speaker) -> None:
    """1.0 §3.3.1: cancelling again has no other effect: the task stays cancelled."""
    task = await v10.start("hold")
    canceled = await v10.result("CancelTask", {"id": task["id"]})
    assert await v10.code("CancelTask", {"id": task["id"]}) == -32002
    assert await v10.result("GetTask", {"id": task["id"]}) == canceled


async def test_a_task_that_is_not_there_is_not_cancelled(v10: Speaker) -> None:
    """1.0 §3.1.5: cancelling a task that does not exist is TaskNotFoundError."""
    assert await v10.code("CancelTask", {"id": "nope"}) == -32001
