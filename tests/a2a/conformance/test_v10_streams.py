"""Version 1.0: streams of a message and of a task that is there already."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.a2a.conformance.speaker import Json, Speaker, put_together, request, rest_of
from tests.a2a.harness import SECONDS, events_in, running

from holdfast.store import open_store

pytestmark = pytest.mark.asyncio(loop_scope="module")


def state_of(result: Json) -> str:
    """The state that a result of a stream tells."""
    [told] = result.values()
    state: str = told["status"]["state"]
    return state


def pieces(results: list[Json]) -> list[Any]:
    """What a stream brought of artifacts."""
    artifacts = [each["artifactUpdate"]["artifact"] for each in results if "artifactUpdate" in each]
    return [part for artifact in artifacts for part in artifact["parts"]]


async def test_a_stream_is_opened(v10: Speaker) -> None:
    """1.0 §3.1.2: SendStreamingMessage opens a stream.
    1.0 §9.4.2: it is HTTP 200 with text/event-stream, and each event's data a JSON-RPC answer to the request."""
    response = await v10.post(request("SendStreamingMessage", v10.message("hello"), 7))
    assert (response.status_code, response.headers["content-type"].split(";")[0]) == (200, "text/event-stream")
    answers = [json.loads(text) for text in events_in(response.text)]
    assert len(answers) > 1
    assert {(answer["jsonrpc"], answer["id"], frozenset(answer)) for answer in answers} == {
        ("2.0", 7, frozenset({"jsonrpc", "id", "result"}))
    }
    assert all(len(answer["result"]) == 1 for answer in answers)


async def test_a_message_is_the_whole_stream(v10: Speaker, tmp_path: Path) -> None:
    """1.0 §3.1.2: where the agent answers with a message, the stream is that one message and then closes."""
    async with (
        await open_store(f"sqlite:///{tmp_path}/holdfast.db") as store,
        running(store, v10.script, reply_seconds=SECONDS) as client,
    ):
        patient = Speaker("1.0", client, v10.script)
        results = await patient.results("SendStreamingMessage", patient.message("reply"))
    assert [list(result) for result in results] == [["message"]]
    assert results[0]["message"]["parts"] == [{"text": "hello back"}]


@pytest.mark.parametrize("text", ["hello there", "busy result", "fail"])
async def test_a_stream_begins_with_the_task(v10: Speaker, text: str) -> None:
    """1.0 §3.1.2: where the agent answers with a task, the stream is that task and then only its updates."""
    first, *others = await v10.results("SendStreamingMessage", v10.message(text))
    assert set(first) == {"task"}
    assert {name for each in others for name in each} <= {"statusUpdate", "artifactUpdate"}
    assert {next(iter(each.values()))["taskId"] for each in others} == {first["task"]["id"]}


@pytest.mark.parametrize(
    ("text", "end"), [("hello", "COMPLETED"), ("fail", "FAILED"), ("refuse", "REJECTED"), ("hold", "CANCELED")]
)
async def test_a_stream_ends_with_its_task(v10: Speaker, text: str, end: str) -> None:
    """1.0 §3.1.2: the stream closes when the task has ended."""
    async with v10.stream("SendStreamingMessage", v10.message(text)) as stream:
        task = (await stream.next())["task"]
        if text == "hold":
            await v10.result("CancelTask", {"id": task["id"]})
        results = await rest_of(stream)
    assert state_of(results[-1]) == "TASK_STATE_" + end
    assert (await v10.result("GetTask", {"id": task["id"]}))["status"]["state"] == "TASK_STATE_" + end


async def test_what_is_done_is_told_at_once(v10: Speaker) -> None:
    """1.0 §3.1.2: progress and results on the way are told when they are there, not at the end."""
    context = v10.name()
    async with v10.stream("SendStreamingMessage", v10.message("busy early hold late", contextId=context)) as stream:
        seen = [await stream.next()]
        while not pieces(seen):
            seen.append(await stream.next())
        assert pieces(seen)[0]["text"].strip() == "early"
        v10.script.let(context)
        assert state_of((await rest_of(stream))[-1]) == "TASK_STATE_COMPLETED"
    said = [each["statusUpdate"]["status"].get("message") for each in seen if "statusUpdate" in each]
    assert ["busy"] in [[part["text"] for part in message["parts"]] for message in said if message]


async def test_events_come_in_the_order_they_were_made(v10: Speaker) -> None:
    """1.0 §3.5.2: events come in the order in which they were made."""
    words = [str(number) for number in range(20)]
    results = await v10.results("SendStreamingMessage", v10.message(" ".join(words)))
    assert "".join(part["text"] for part in pieces(results)).split() == words
    assert "artifactUpdate" not in results[-1], "the end comes last"


async def test_all_streams_of_a_task_tell_the_same(v10: Speaker) -> None:
    """1.0 §3.5.2: every stream of a task gets the same events in the same order."""
    context = v10.name()
    task = await v10.start("hold one hold two result three", contextId=context)
    follow = {"id": task["id"]}
    async with v10.stream("SubscribeToTask", follow) as one, v10.stream("SubscribeToTask", follow) as two:
        assert [(await each.next())["task"]["id"] for each in (one, two)] == [task["id"]] * 2
        v10.script.let(context)
        v10.script.let(context)
        first, second = await rest_of(one), await rest_of(two)
    assert first == second
    assert "".join(part.get("text", "") for part in pieces(first)).count("two") == 1


async def test_a_stream_that_is_closed_closes_no_other(v10: Speaker) -> None:
    """1.0 §3.5.2: closing one stream of a task does nothing to the others, nor to the task."""
    context = v10.name()
    async with v10.stream("SendStreamingMessage", v10.message("hold done", contextId=context)) as first:
        task = (await first.next())["task"]
        async with v10.stream("SubscribeToTask", {"id": task["id"]}) as second:
            await second.next()
    await v10.script.begun(context)
    async with v10.stream("SubscribeToTask", {"id": task["id"]}) as third:
        await third.next()
        async with v10.stream("SubscribeToTask", {"id": task["id"]}) as fourth:
            await fourth.next()
        v10.script.let(context)
        assert state_of((await rest_of(third))[-1]) == "TASK_STATE_COMPLETED"


async def test_following_begins_with_the_task_as_it_stands(v10: Speaker) -> None:
    """1.0 §3.1.6: the first event of SubscribeToTask is the task as it is then, so that nothing is lost between."""
    context = v10.name()
    async with v10.stream("SendStreamingMessage", v10.message("early hold late", contextId=context)) as stream:
        seen = [await stream.next()]
        while not pieces(seen):
            seen.append(await stream.next())
    task_id = seen[0]["task"]["id"]
    async with v10.stream("SubscribeToTask", {"id": task_id}) as again:
        now = (await again.next())["task"]
        v10.script.let(context)
        rest = await rest_of(again)
    assert (now["id"], now["contextId"]) == (task_id, context)
    before = "".join(part["text"] for artifact in now.get("artifacts", []) for part in artifact["parts"])
    assert (before + "".join(part["text"] for part in pieces(rest))).split() == ["early", "late"]


async def test_following_ends_with_the_task(v10: Speaker) -> None:
    """1.0 §3.1.6: the stream of SubscribeToTask ends when the task has ended."""
    task = await v10.start("hold")
    async with v10.stream("SubscribeToTask", {"id": task["id"]}) as stream:
        await stream.next()
        await v10.result("CancelTask", {"id": task["id"]})
        assert state_of((await rest_of(stream))[-1]) == "TASK_STATE_CANCELED"


async def test_a_task_that_asked_back_can_be_followed(v10: Speaker) -> None:
    """1.0 §3.1.6: any task that has not ended can be followed until it ends, one that waits for input too."""
    task = await v10.send("ask")
    async with v10.stream("SubscribeToTask", {"id": task["id"]}) as stream:
        assert (await stream.next())["task"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        await v10.send("hello", taskId=task["id"])
        assert state_of((await rest_of(stream))[-1]) == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("text", ["hello", "fail", "refuse"])
async def test_an_ended_task_is_not_followed(v10: Speaker, text: str) -> None:
    """1.0 §3.1.6: following an ended task is UnsupportedOperationError."""
    assert await v10.code("SubscribeToTask", {"id": (await v10.send(text))["id"]}) == -32004


async def test_a_task_that_is_not_there_is_not_followed(v10: Speaker) -> None:
    """1.0 §3.1.6: following a task that does not exist is TaskNotFoundError."""
    assert await v10.code("SubscribeToTask", {"id": "nope"}) == -32001


@pytest.mark.parametrize("text", ["one two three", "result one result two", "twice", "one twice two"])
async def test_updates_make_the_artifacts(v10: Speaker, text: str) -> None:
    """1.0 §4.2.2: an update replaces its artifact, or appends to it: all together are the artifacts of the task."""
    first, *others = await v10.results("SendStreamingMessage", v10.message(text))
    updates = [each["artifactUpdate"] for each in others if "artifactUpdate" in each]
    task = await v10.result("GetTask", {"id": first["task"]["id"]})
    assert put_together([], updates) == put_together(task["artifacts"], [])


async def test_what_is_known_and_what_follows_make_the_artifacts(v10: Speaker) -> None:
    """1.0 §3.1.6: the first event of a subscription and its updates make the artifacts of the task."""
    context = v10.name()
    task = await v10.start("one result twice hold two result hold twice three", contextId=context)
    async with v10.stream("SubscribeToTask", {"id": task["id"]}) as stream:
        now = (await stream.next())["task"]
        v10.script.let(context)
        v10.script.let(context)
        updates = [each["artifactUpdate"] for each in await rest_of(stream) if "artifactUpdate" in each]
    ended = await v10.result("GetTask", {"id": task["id"]})
    assert put_together(now.get("artifacts", []), updates) == put_together(ended["artifacts"], [])


async def test_events_have_what_they_need(v10: Speaker) -> None:
    """1.0 §4.2: status and artifact updates have their required members."""
    first, *others = await v10.results("SendStreamingMessage", v10.message("busy hello result"))
    assert {next(iter(each)) for each in others} == {"statusUpdate", "artifactUpdate"}
    for each in others:
        [(kind, told)] = each.items()
        assert (told["taskId"], told["contextId"]) == (first["task"]["id"], first["task"]["contextId"])
        if kind == "statusUpdate":
            assert told["status"]["state"].startswith("TASK_STATE_")
        else:
            assert told["artifact"]["artifactId"]
            assert told["artifact"]["parts"]
