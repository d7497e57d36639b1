"""Version 1.0: messages, the tasks that they begin or go on with, and the contexts that these belong to."""

import asyncio

import pytest
from tests.a2a.conformance.speaker import Speaker

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENDED = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"}


@pytest.mark.parametrize(
    ("text", "member"), [("hello", "task"), ("fail", "task"), ("ask", "task"), ("reply", "message")]
)
async def test_a_message_is_answered_by_a_task_or_a_message(v10: Speaker, text: str, member: str) -> None:
    """1.0 §3.1.1: SendMessage answers with either a task or a message."""
    assert set(await v10.result("SendMessage", v10.message(text))) == {member}


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("hello", "TASK_STATE_COMPLETED"),
        ("fail", "TASK_STATE_FAILED"),
        ("refuse", "TASK_STATE_REJECTED"),
        ("ask", "TASK_STATE_INPUT_REQUIRED"),
    ],
)
async def test_who_waits_gets_the_rested_task(v10: Speaker, text: str, state: str) -> None:
    """1.0 §3.2.2: without returnImmediately the answer waits for an ended or interrupted task."""
    task = (await v10.result("SendMessage", v10.message(text)))["task"]
    assert task["status"]["state"] == state
    explicit = (await v10.result("SendMessage", v10.message(text, {"returnImmediately": False})))["task"]
    assert explicit["status"]["state"] == state


async def test_who_waits_gets_all_of_it(v10: Speaker) -> None:
    """1.0 §3.2.2: an answer that waited has the latest state and all artifacts."""
    task = await v10.send("first result last")
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    parts = [part for artifact in task["artifacts"] for part in artifact["parts"]]
    assert "".join(part.get("text", "") for part in parts).count("first last") == 1
    assert {"rows": 1} in [part.get("data") for part in parts]
    assert task["artifacts"] == (await v10.result("GetTask", {"id": task["id"]}))["artifacts"]


async def test_artifacts_have_ids_of_their_own(v10: Speaker) -> None:
    """1.0 §4.1.7: the id of an artifact is unique within its task."""
    asked = await v10.send("one twice twice result ask")
    task = await v10.send("two twice result", taskId=asked["id"])
    ids = [artifact["artifactId"] for artifact in task["artifacts"]]
    assert len(set(ids)) == len(ids)
    [report] = [artifact for artifact in task["artifacts"] if artifact["artifactId"] == "report"]
    assert report["parts"] == [{"text": "final"}]


@pytest.mark.parametrize("text", ["nothing", "speechless"])
async def test_an_answer_without_parts_is_a_failure(v10: Speaker, text: str) -> None:
    """1.0 §5.7: required arrays have an element: artifacts and messages without parts are never sent."""
    task = await v10.send(text)
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert [artifact for artifact in task.get("artifacts", []) if not artifact["parts"]] == []
    assert task["status"]["message"]["parts"]


async def test_who_waits_hears_of_a_cancellation(v10: Speaker) -> None:
    """1.0 §3.2.2: who waits is answered when the task is cancelled, too."""
    context = v10.name()
    waiting = asyncio.create_task(v10.send("hold", contextId=context))
    await v10.script.begun(context)
    [task] = (await v10.result("ListTasks", {"contextId": context}))["tasks"]
    await v10.result("CancelTask", {"id": task["id"]})
    assert (await waiting)["status"]["state"] == "TASK_STATE_CANCELED"


async def test_who_does_not_wait_gets_a_task_in_progress(v10: Speaker) -> None:
    """1.0 §3.2.2: with returnImmediately the answer comes once the task is made, whatever it still has to do.
    1.0 §3.1.1: SendMessage need not wait for the work: the task goes on after the answer."""
    context = v10.name()
    task = await v10.start("hold done", contextId=context)
    assert task["status"]["state"] in {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
    v10.script.let(context)
    ended = await v10.client.ended(task["id"])
    assert ended["status"]["state"] == "completed"


async def test_history_is_no_longer_than_asked(v10: Speaker) -> None:
    """1.0 §3.2.4: no answer has more messages of history than historyLength."""
    task = await v10.send("ask")
    more = await v10.result("SendMessage", v10.message("hello", {"historyLength": 1}, taskId=task["id"]))
    assert len(more["task"]["history"]) <= 1
    for most in (0, 1, 2):
        got = await v10.result("GetTask", {"id": task["id"], "historyLength": most})
        assert len(got.get("history", [])) <= most
        [listed] = (await v10.result("ListTasks", {"contextId": task["contextId"], "historyLength": most}))["tasks"]
        assert len(listed.get("history", [])) <= most
    none = (await v10.result("SendMessage", v10.message("hello", {"historyLength": 0})))["task"]
    assert not none.get("history")


async def test_a_task_is_found_as_it_stands(v10: Speaker) -> None:
    """1.0 §3.1.3: GetTask returns the state and artifacts of the task now."""
    context = v10.name()
    task = await v10.start("hold done", contextId=context)
    assert (await v10.result("GetTask", {"id": task["id"]}))["status"]["state"] not in ENDED
    v10.script.let(context)
    await v10.client.ended(task["id"])
    found = await v10.result("GetTask", {"id": task["id"]})
    assert found["status"]["state"] == "TASK_STATE_COMPLETED"
    assert found["artifacts"][0]["parts"][0]["text"].strip() == "done"


@pytest.mark.parametrize(("text", "member"), [("hello", "task"), ("reply", "message")])
async def test_a_context_that_the_agent_made_is_told(v10: Speaker, text: str, member: str) -> None:
    """1.0 §3.4.1: a contextId that the agent makes is in its answer, be it a task or a message."""
    assert (await v10.result("SendMessage", v10.message(text)))[member]["contextId"]


@pytest.mark.parametrize(("text", "member"), [("hello", "task"), ("reply", "message")])
async def test_a_context_of_the_client_is_kept(v10: Speaker, text: str, member: str) -> None:
    """1.0 §3.4.1: a contextId of the client's that is accepted is not replaced by another."""
    context = v10.name()
    assert (await v10.result("SendMessage", v10.message(text, contextId=context)))[member]["contextId"] == context


@pytest.mark.parametrize("context", ["x" * 5000, "a\0b"])
async def test_a_context_that_cannot_be_is_refused(v10: Speaker, context: str) -> None:
    """1.0 §3.4.1: a contextId that cannot be accepted is an error, and no other is made for it."""
    before = (await v10.result("ListTasks", {}))["totalSize"]
    assert await v10.code("SendMessage", v10.message("hello", contextId=context)) == -32602
    assert (await v10.result("ListTasks", {}))["totalSize"] == before


async def test_every_task_has_an_id_of_its_own(v10: Speaker) -> None:
    """1.0 §3.4.2: the agent makes a unique id for each new task, which the task that is returned has."""
    context = v10.name()
    ids = [(await v10.send("hello", contextId=each))["id"] for each in (context, context, v10.name())]
    assert len(set(ids)) == len(ids)
    assert all(ids)


@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
async def test_a_task_of_the_clients_making_is_not_found(v10: Speaker, method: str) -> None:
    """1.0 §3.4.2: a message whose taskId is no existing task is TaskNotFoundError; clients make no task ids."""
    context = v10.name()
    assert await v10.code(method, v10.message("hello", taskId="mine", contextId=context)) == -32001
    assert (await v10.result("ListTasks", {"contextId": context}))["tasks"] == []


async def test_the_context_follows_from_the_task(v10: Speaker) -> None:
    """1.0 §3.4.3: a message that names only its task belongs to that task's context."""
    asked = await v10.send("ask")
    task = await v10.send("hello", taskId=asked["id"])
    assert (task["id"], task["contextId"]) == (asked["id"], asked["contextId"])
    turns = v10.script.turns[asked["contextId"]]
    assert [turn.text for turn in turns] == ["ask", "hello"]
    assert turns[1].history[0].text == "ask", "the conversation goes on"


async def test_the_context_of_a_stream_follows_from_the_task(v10: Speaker) -> None:
    """1.0 §3.4.3: so it does for a stream, which begins with that task."""
    asked = await v10.send("ask")
    first, *_ = await v10.results("SendStreamingMessage", v10.message("hello", taskId=asked["id"]))
    assert (first["task"]["id"], first["task"]["contextId"]) == (asked["id"], asked["contextId"])
    assert [turn.text for turn in v10.script.turns[asked["contextId"]]] == ["ask", "hello"]


@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
async def test_a_task_of_another_context_is_refused(v10: Speaker, method: str) -> None:
    """1.0 §3.4.3: a message whose contextId is not that of its task is refused."""
    task = await v10.send("ask")
    assert await v10.code(method, v10.message("hello", taskId=task["id"], contextId=v10.name())) == -32602
    found = await v10.result("GetTask", {"id": task["id"]})
    assert found["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"


@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
@pytest.mark.parametrize("text", ["hello", "fail", "refuse", "hold"])
async def test_an_ended_task_takes_no_message(v10: Speaker, method: str, text: str) -> None:
    """1.0 §3.1.1: a message to an ended task is UnsupportedOperationError.
    1.0 §3.1.2: so it is if it asks for a stream."""
    task = await (v10.start(text) if text == "hold" else v10.send(text))
    if text == "hold":
        task = await v10.result("CancelTask", {"id": task["id"]})
    assert task["status"]["state"] in ENDED
    assert await v10.code(method, v10.message("more", taskId=task["id"])) == -32004
    assert await v10.result("GetTask", {"id": task["id"]}) == task


@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
async def test_a_media_type_that_is_none_is_refused(v10: Speaker, method: str) -> None:
    """1.0 §3.1.1: a part of a media type that the agent does not take is ContentTypeNotSupportedError."""
    params = v10.message("", parts=[{"raw": "AAE=", "mediaType": "no type"}])
    assert await v10.code(method, params) == -32005
