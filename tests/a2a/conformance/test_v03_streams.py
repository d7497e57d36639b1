"""Version 0.3: streams of a message and of a task that is there already."""

import pytest
from tests.a2a.conformance.speaker import Speaker, put_together, rest_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("text", "end"),
    [("busy hello result", "completed"), ("fail", "failed"), ("refuse", "rejected"), ("ask", "input-required")],
)
async def test_a_stream_is_a_task_and_its_updates(v03: Speaker, text: str, end: str) -> None:
    """0.3 §7.2: a stream is of tasks, messages and updates; its last update says that it is final."""
    first, *others = await v03.results("message/stream", v03.message(text))
    assert first["kind"] == "task"
    assert {each["kind"] for each in others} <= {"status-update", "artifact-update"}
    assert (others[-1]["status"]["state"], others[-1]["final"]) == (end, True)
    assert [each["final"] for each in others[:-1] if each["kind"] == "status-update"].count(True) == 0


async def test_updates_have_their_members(v03: Speaker) -> None:
    """0.3 §7.2.2: status updates have their required members.
    0.3 §7.2.3: artifact updates have their required members."""
    first, *others = await v03.results("message/stream", v03.message("busy hello result"))
    assert {each["kind"] for each in others} == {"status-update", "artifact-update"}
    for each in others:
        assert (each["taskId"], each["contextId"]) == (first["id"], first["contextId"])
        if each["kind"] == "status-update":
            assert isinstance(each["final"], bool)
            assert each["status"]["state"]
        else:
            assert each["artifact"]["artifactId"]
            assert each["artifact"]["parts"]


@pytest.mark.parametrize("text", ["one two three", "result one result two", "one twice two"])
async def test_updates_make_the_artifacts(v03: Speaker, text: str) -> None:
    """0.3 §7.2.3: an update replaces its artifact, or appends to it: all together are the artifacts of the task."""
    first, *others = await v03.results("message/stream", v03.message(text))
    updates = [each for each in others if each["kind"] == "artifact-update"]
    task = await v03.result("tasks/get", {"id": first["id"]})
    assert put_together([], updates) == put_together(task["artifacts"], [])


async def test_a_task_is_followed_again(v03: Speaker) -> None:
    """0.3 §7.9: tasks/resubscribe gives the updates that come from then on."""
    context = v03.name()
    async with v03.stream("message/stream", v03.message("hold later", contextId=context)) as stream:
        task = await stream.next()
    async with v03.stream("tasks/resubscribe", {"id": task["id"]}) as again:
        await again.next()
        v03.script.let(context)
        rest = await rest_of(again)
    assert (rest[-1]["kind"], rest[-1]["status"]["state"], rest[-1]["final"]) == ("status-update", "completed", True)
    said = [part["text"] for each in rest if each["kind"] == "artifact-update" for part in each["artifact"]["parts"]]
    assert "".join(said).split() == ["later"]


async def test_a_task_that_is_not_there_is_not_followed(v03: Speaker) -> None:
    """0.3 §8.2: following a task that does not exist is TaskNotFoundError."""
    assert await v03.code("tasks/resubscribe", {"id": "nope"}) == -32001
