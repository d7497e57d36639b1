"""What a handler may put out: text, artifacts, statuses, a question back, a plain reply."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from tests.a2a.harness import SECONDS, Client, Conducted, message, running, sending, words
from tests.support.eventually import eventually

from holdfast.a2a import DataPart, FilePart, TextPart
from holdfast.a2a.handler import InputRequired, Output, Rejected, Reply, Status
from holdfast.a2a.protocol.wire import Artifact
from holdfast.core import Lease, TaskState
from holdfast.store import Store
from holdfast.store.tasks.leases import Leases


async def ask(client: Client, text: str, message_id: str = "m", context_id: str | None = "c", **more: Any) -> Any:
    """A message in version 1.0; the result, or the error."""
    answer = await client.call("SendMessage", sending(text, context_id, message_id, **more), "1.0")
    return answer.get("result", answer.get("error"))


async def test_pieces_of_text_are_one_artifact(store: Store) -> None:
    agent = Conducted()
    agent.put("one ", "", "two", None)
    async with running(store, agent) as client:
        task = (await ask(client, "hi"))["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert words(task) == "one two"
    assert len(task["artifacts"]) == 1


async def test_artifacts_keep_their_names_types_and_order_and_the_conversation_knows_them(
    store: Store, tmp_path: Path
) -> None:
    agent = Conducted()
    raw = base64.b64encode(b"\x00\x01bytes").decode()
    agent.put(
        "words",
        Artifact((DataPart({"whole": 1, "part": 1.5}),), name="numbers", description="two of them"),
        Artifact((FilePart(raw=raw, filename="a.bin", media_type="application/x-thing"),), "own-id"),
        None,
        "next",
        None,
    )
    async with running(store, agent, workspace=tmp_path) as client:
        task = (await ask(client, "hi", "m1"))["task"]
        numbers, file, text = task["artifacts"]
        assert numbers["name"] == "numbers"
        assert numbers["description"] == "two of them"
        assert numbers["parts"] == [{"data": {"whole": 1, "part": 1.5}}]
        assert isinstance(numbers["parts"][0]["data"]["whole"], int)
        assert file["artifactId"] == "own-id"
        assert file["parts"] == [{"raw": raw, "filename": "a.bin", "mediaType": "application/x-thing"}]
        assert text["parts"] == [{"text": "words"}]
        await ask(client, "and now?", "m2")
        past = agent.turns[1].history
        assert [said.text for said in past] == ["hi", "", "", "words"]
        assert past[1].parts == (DataPart({"whole": 1, "part": 1.5}),)
        assert [await file.read() for file in past[2].attachments] == [b"\x00\x01bytes"]


async def test_a_status_is_told_and_is_no_part_of_the_answer(store: Store) -> None:
    agent = Conducted()
    async with running(store, agent) as client:
        async with client.stream("SendStreamingMessage", sending("hi")) as stream:
            task = (await stream.next())["task"]
            assert (await stream.next())["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING"
            agent.put(Status("looking things up"))
            told = (await stream.next())["statusUpdate"]["status"]
            assert told["state"] == "TASK_STATE_WORKING"
            assert told["message"]["parts"] == [{"text": "looking things up"}]
            now = (await client.call("GetTask", {"id": task["id"]}, "1.0"))["result"]
            assert now["status"]["message"]["parts"] == [{"text": "looking things up"}]
            agent.put("done", None)
            await stream.rest()
        agent.put("again", None)
        await ask(client, "what was that?", "m2")
    assert [said.text for said in agent.turns[1].history] == ["hi", "done"]


async def test_a_question_back_rests_and_its_answer_goes_on_with_the_same_task(store: Store) -> None:
    agent = Conducted()
    async with running(store, agent) as client:
        agent.put("I can do that. ", InputRequired("Which colour?"))
        asked = (await ask(client, "paint it", "m1"))["task"]
        assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        assert asked["status"]["message"]["parts"] == [{"text": "Which colour?"}]
        agent.put("painted", None)
        done = (await ask(client, "blue", "m2", None, taskId=asked["id"]))["task"]
        assert (done["id"], done["contextId"]) == (asked["id"], "c")
        assert done["status"]["state"] == "TASK_STATE_COMPLETED"
        assert [said["parts"][0]["text"] for said in done["history"]] == [
            "paint it",
            "I can do that. ",
            "Which colour?",
            "blue",
        ]
        assert [said.text for said in agent.turns[1].history] == ["paint it", "I can do that. ", "Which colour?"]
        assert agent.turns[1].text == "blue"
        # Delivered once more, it is the same message; another one finds the task ended.
        again = (await ask(client, "blue", "m2", None, taskId=asked["id"]))["task"]
        assert again == done
        assert len(agent.turns) == 2
        error = await ask(client, "green", "m3", None, taskId=asked["id"])
        assert error["code"] == -32004


async def test_an_answer_that_comes_before_the_turn_is_quite_over_is_waited_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, may_go = Conducted(), asyncio.Event()
    release = Leases.release

    async def slow(self: Leases, lease: Lease) -> None:
        await may_go.wait()
        await release(self, lease)

    monkeypatch.setattr(Leases, "release", slow)
    async with running(store, agent) as client:
        agent.put(InputRequired("Which colour?"))
        asked = (await ask(client, "paint it", "m1"))["task"]
        answering = asyncio.create_task(ask(client, "blue", "m2", None, taskId=asked["id"]))

        async def accepted() -> bool:
            return (await store.tasks.get(asked["id"])).state is TaskState.SUBMITTED

        await eventually(accepted)
        agent.put("painted", None)
        may_go.set()
        done = (await answering)["task"]
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert words(done) == "painted"


async def test_a_task_that_asks_back_can_be_cancelled(store: Store) -> None:
    agent = Conducted()
    async with running(store, agent) as client:
        agent.put(InputRequired("Which colour?"))
        asked = (await ask(client, "paint it", "m1"))["task"]
        ended = (await client.call("CancelTask", {"id": asked["id"]}, "1.0"))["result"]
        assert ended["status"]["state"] == "TASK_STATE_CANCELED"
        assert (await ask(client, "blue", "m2", None, taskId=asked["id"]))["code"] == -32004


@pytest.mark.parametrize("version", ["1.0", None])
async def test_a_reply_is_a_message_and_its_task_is_still_there(store: Store, version: str | None) -> None:
    agent = Conducted()
    agent.put(Reply((TextPart("just this"),)), "not heard any more", None)
    async with running(store, agent) as client:
        if version:
            reply = (await ask(client, "hi", "m1"))["message"]
            part, method = {"text": "just this"}, "GetTask"
        else:
            reply = await client.send("hi", message_id="m1")
            assert reply["kind"] == "message"
            part, method = {"kind": "text", "text": "just this"}, "tasks/get"
        assert reply["parts"] == [part]
        assert reply["contextId"] == "c"
        task = (await client.call(method, {"id": reply["taskId"]}, version))["result"]
        assert task["status"]["message"]["parts"] == [part]
        assert not task.get("artifacts")


async def test_what_no_handler_may_put_out_fails_the_task(store: Store) -> None:
    agent = Conducted()
    agent.put("a piece", 7, None)  # type: ignore[arg-type]
    async with running(store, agent) as client:
        task = (await ask(client, "hi"))["task"]
        assert task["status"]["state"] == "TASK_STATE_FAILED"
        assert "TypeError" in task["status"]["message"]["parts"][0]["text"]
        agent.put(*([None] * 2))
        assert (await ask(client, "and now?", "m2"))["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


def streamed(client: Client, version: str, message_id: str = "m") -> Any:
    """The stream of a message."""
    if version == "0.3":
        return client.stream("message/stream", message("hi", message_id=message_id), None)
    return client.stream("SendStreamingMessage", sending("hi", message_id=message_id))


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_streamed_reply_is_one_message_and_no_task(store: Store, version: str) -> None:
    agent = Conducted()
    agent.put(Reply.of("just this"), None)
    async with running(store, agent, reply_seconds=SECONDS) as client:
        async with streamed(client, version) as stream:
            (item,) = await stream.rest()
        async with streamed(client, version) as stream:
            assert await stream.rest() == [item], "delivered again it is the same"
    reply = item if version == "0.3" else item["message"]
    assert reply.get("kind", "message") == "message"
    assert [part["text"] for part in reply["parts"]] == ["just this"]
    assert len(agent.turns) == 1


@pytest.mark.parametrize("before", ["words ", Status("a moment"), Artifact((TextPart("beside"),), "own")])
async def test_a_reply_after_something_else_is_what_the_completed_task_says(store: Store, before: Any) -> None:
    agent = Conducted()
    agent.put(before, Reply.of("that is all"), None)
    async with running(store, agent, reply_seconds=SECONDS) as client:
        async with streamed(client, "1.0") as stream:
            first, *_, last = await stream.rest()
        assert last["statusUpdate"]["status"]["message"]["parts"] == [{"text": "that is all"}]
        task = (await ask(client, "hi"))["task"]
    assert task["id"] == first["task"]["id"]
    assert task["status"]["message"]["parts"] == [{"text": "that is all"}]
    assert ("artifacts" in task) == (not isinstance(before, Status))


async def test_who_takes_its_time_to_reply_has_a_task(store: Store) -> None:
    agent = Conducted()
    async with running(store, agent, reply_seconds=0.01) as client, streamed(client, "1.0") as stream:
        assert "task" in await stream.next()
        agent.put(Reply.of("at last"), None)
        rest = await stream.rest()
    assert rest[-1]["statusUpdate"]["status"]["message"]["parts"] == [{"text": "at last"}]


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_handler_can_reject_a_task(store: Store, version: str) -> None:
    agent = Conducted()
    agent.put("I thought about it. ", Rejected("not that"), None)
    async with running(store, agent) as client:
        async with streamed(client, version) as stream:
            last = (await stream.rest())[-1]
        status = last["status"] if version == "0.3" else last["statusUpdate"]["status"]
        assert status["state"] == ("rejected" if version == "0.3" else "TASK_STATE_REJECTED")
        assert status["message"]["parts"][0]["text"] == "not that"
        agent.put("yes", None)
        await ask(client, "and this?", "m2")
    assert [said.text for said in agent.turns[1].history] == ["hi", "I thought about it. ", "not that"]


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("ends", [None, InputRequired("more?"), Rejected("no")])
async def test_the_last_piece_of_a_text_says_that_it_is(store: Store, version: str, ends: Any) -> None:
    agent = Conducted()
    agent.put("one ", "two", ends, None)
    async with running(store, agent) as client, streamed(client, version) as stream:
        items = await stream.rest()
    pieces = [item.get("artifactUpdate", item) for item in items if "artifact" in item or "artifactUpdate" in item]
    assert [bool(piece.get("lastChunk")) for piece in pieces] == [False, False, True]
    assert [bool(piece.get("append")) for piece in pieces] == [False, True, True]
    assert len({piece["artifact"]["artifactId"] for piece in pieces}) == 1
    assert "".join(part["text"] for piece in pieces for part in piece["artifact"]["parts"]) == "one two"


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_handler_gets_what_the_message_and_its_request_say(store: Store, version: str) -> None:
    agent = Conducted()
    agent.put("yes", None)
    more: dict[str, Any] = {"extensions": ["https://x.example/ext"], "metadata": {"of": "the message"}}
    params = message("hi", **more) if version == "0.3" else sending("hi", **more)
    params["metadata"] = {"of": "the request", "n": 1}
    params.setdefault("configuration", {})["acceptedOutputModes"] = ["text/plain", "image/png"]
    method = "message/send" if version == "0.3" else "SendMessage"
    async with running(store, agent) as client:
        answer = (await client.call(method, params, version))["result"]
        (told,) = answer.get("task", answer)["history"]
    (turn,) = agent.turns
    assert turn.extensions == ("https://x.example/ext",)
    assert turn.metadata == {"of": "the message"}
    assert turn.request_metadata == {"of": "the request", "n": 1}
    assert turn.accepted_output_modes == ("text/plain", "image/png")
    assert told["extensions"] == ["https://x.example/ext"]
    assert "request" not in told


@pytest.mark.parametrize(
    "outputs",
    [
        (Status("thinking"), "done"),
        (Status("thinking"), Artifact((TextPart("done"),))),
        ("do", Status("still thinking"), "ne"),
    ],
)
async def test_what_was_said_at_work_does_not_stay_when_the_task_is_completed(
    store: Store, outputs: tuple[Output, ...]
) -> None:
    agent = Conducted()
    agent.put(*outputs, None)
    async with running(store, agent) as client:
        task = await client.send("one")
    assert (task["status"]["state"], words(task)) == ("completed", "done")
    assert "message" not in task["status"]
