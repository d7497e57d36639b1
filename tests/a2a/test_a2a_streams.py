"""Streams: news as they come, nothing missing and nothing twice, and no client can hold up or end a turn."""

import asyncio
from typing import Any

import pytest
from tests.a2a.harness import Client, Conducted, Gate, Stream, running, sending, words
from tests.support.eventually import eventually

from holdfast.a2a.handler import Status
from holdfast.a2a.protocol.wire import Artifact, Message, TextPart
from holdfast.a2a.turns.task_lists import TaskLists
from holdfast.core import Task
from holdfast.store import Store, open_store


def text_in(results: list[dict[str, Any]], start: dict[str, Any] | None = None) -> str:
    """The text of all artifacts after a stream, from the task that it began with."""
    artifacts = {item["artifactId"]: list(item["parts"]) for item in (start or {}).get("artifacts", [])}
    for result in results:
        update = result.get("artifactUpdate")
        if update is not None:
            parts = update["artifact"]["parts"]
            known = artifacts.get(update["artifact"]["artifactId"], [])
            artifacts[update["artifact"]["artifactId"]] = known + parts if update.get("append") else list(parts)
    return "\n".join("".join(part["text"] for part in parts) for parts in artifacts.values())


async def began(stream: Stream) -> dict[str, Any]:
    """The task that a stream begins with."""
    task: dict[str, Any] = (await stream.next())["task"]
    return task


async def test_a_stream_is_the_task_then_pieces_as_they_come_then_the_end(store: Store) -> None:
    agent = Conducted()
    async with running(store, agent) as client, client.stream("SendStreamingMessage", sending("hi")) as stream:
        task = await began(stream)
        assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
        assert (await stream.next())["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING"
        agent.put("one ")
        first = (await stream.next())["artifactUpdate"]
        assert (first["taskId"], first["contextId"]) == (task["id"], "c")
        assert first["artifact"]["parts"] == [{"text": "one "}]
        assert not first.get("append")
        agent.put("two")
        second = (await stream.next())["artifactUpdate"]
        assert second["append"]
        assert second["artifact"]["artifactId"] == first["artifact"]["artifactId"]
        agent.put(None)
        *rest, last = await stream.rest()
        assert text_in(rest) == ""
        assert last["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
        whole = (await client.call("GetTask", {"id": task["id"]}, "1.0"))["result"]
        assert words(whole) == "one two"
        assert whole["artifacts"][0]["artifactId"] == first["artifact"]["artifactId"]


async def test_a_stream_begins_with_the_task_as_it_was_accepted_however_quick_the_turn_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn is over before the stream has read what it shows first; nothing is left out, and nothing told twice."""
    history = TaskLists.history

    async def late(self: TaskLists, task: Task, length: int | None) -> tuple[Message, ...]:
        async with asyncio.timeout(60):
            while not (await store.tasks.get(task.task_id)).state.terminal:
                await asyncio.sleep(0.01)
        return await history(self, task, length)

    monkeypatch.setattr(TaskLists, "history", late)
    agent = Conducted()
    for output in ("one ", "two", None):
        agent.put(output)
    async with running(store, agent) as client, client.stream("SendStreamingMessage", sending("hi")) as stream:
        assert (await began(stream))["status"]["state"] == "TASK_STATE_SUBMITTED"
        results = await stream.rest()
        assert text_in(results) == "one two"
        states = [result["statusUpdate"]["status"]["state"] for result in results if "statusUpdate" in result]
        assert states == ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]


async def test_a_clients_disconnect_does_not_end_the_turn(store: Store) -> None:
    agent = Conducted()
    async with running(store, agent) as client:
        async with client.stream("SendStreamingMessage", sending("hi")) as stream:
            task = await began(stream)
            agent.put("one ")
            await stream.next()
        agent.put("two", None)
        ended = await client.ended(task["id"])
    assert ended["status"]["state"] == "completed"
    assert words(ended) == "one two"
    assert agent.interrupted == []


@pytest.mark.parametrize("version", ["1.0", None])
async def test_who_subscribes_again_misses_nothing(store: Store, version: str | None) -> None:
    agent = Conducted()
    method = "SubscribeToTask" if version else "tasks/resubscribe"
    async with running(store, agent) as client:
        async with client.stream("SendStreamingMessage", sending("hi")) as stream:
            task = await began(stream)
            agent.put("one ", Artifact((TextPart("beside"),), "own"), "two ")
            while "two" not in str(await stream.next()):
                pass
        agent.put("three ")  # while nobody is there
        await eventually(lambda: _says(client, task["id"]))
        async with client.stream(method, {"id": task["id"]}, version) as again:
            now = await again.next()
            agent.put("four", None)
            rest = await again.rest()
            if version:
                assert text_in(rest, now["task"]) == "beside\none two three four"
                assert rest[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
            else:
                assert [piece["text"] for item in now["artifacts"] for piece in item["parts"]] == [
                    "beside",
                    "one two three ",
                ]
                assert rest[-1]["final"] is True
                assert rest[-1]["status"]["state"] == "completed"


async def _says(client: Client, task_id: str) -> bool:
    async with client.stream("SubscribeToTask", {"id": task_id}) as stream:
        return "three" in str(await stream.next())


async def test_followers_of_one_task_all_get_the_same(store: Store) -> None:
    agent = Conducted()
    async with running(store, agent) as client, client.stream("SendStreamingMessage", sending("hi")) as first:
        task = await began(first)
        async with client.stream("SubscribeToTask", {"id": task["id"]}) as second:
            now = await began(second)
            for number in range(50):
                agent.put(f"{number} ")
            agent.put(None)
            one, two = await asyncio.gather(first.rest(), second.rest())
    assert text_in(one) == text_in(two, now) == "".join(f"{number} " for number in range(50))


async def test_a_turn_of_another_gateway_is_followed_through_the_store(postgres_url: str) -> None:
    agent = Conducted()
    async with (
        await open_store(postgres_url) as here,
        await open_store(postgres_url) as there,
        running(here, agent) as one,
        running(there, Gate()) as other,
    ):
        async with one.stream("SendStreamingMessage", sending("hi")) as stream:
            task = await began(stream)
            async with other.stream("SubscribeToTask", {"id": task["id"]}) as elsewhere:
                now = await began(elsewhere)
                agent.put(Status("reading"))
                while "reading" not in str(await elsewhere.next()):
                    pass
                agent.put(Artifact((TextPart("beside"),), "own"), "one ", "two", None)
                rest = await elsewhere.rest()
                assert text_in(rest, now) == "beside\none two"
                assert rest[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
        # The same message, delivered to the other one, finds its first task there.
        again = await other.call("SendMessage", sending("hi"), "1.0")
        assert again["result"]["task"]["id"] == task["id"]
        assert words(again["result"]["task"]) == "beside\none two"


async def test_a_cancel_through_another_gateway_stops_the_work_and_ends_the_streams(postgres_url: str) -> None:
    agent = Conducted()
    async with (
        await open_store(postgres_url) as here,
        await open_store(postgres_url) as there,
        running(here, agent) as one,
        running(there, Gate()) as other,
    ):
        async with one.stream("SendStreamingMessage", sending("hi")) as stream:
            task = await began(stream)
            agent.put("one ")
            while "one" not in str(await stream.next()):
                pass
            ended = (await other.call("CancelTask", {"id": task["id"]}, "1.0"))["result"]
            assert ended["status"]["state"] == "TASK_STATE_CANCELED"
            last = (await stream.rest())[-1]
            assert last["statusUpdate"]["status"]["state"] == "TASK_STATE_CANCELED"
        assert agent.interrupted == ["hi"]


async def test_a_stream_of_a_message_that_was_here_before_shows_its_first_task(store: Store) -> None:
    agent = Conducted()
    agent.put("once", None)
    async with running(store, agent) as client:
        async with client.stream("SendStreamingMessage", sending("hi")) as stream:
            first = await began(stream)
            await stream.rest()
        async with client.stream("SendStreamingMessage", sending("hi")) as stream:
            again = await began(stream)
            assert await stream.rest() == []
    assert again["id"] == first["id"]
    assert words(again) == "once"
    assert len(agent.turns) == 1


async def test_nothing_follows_an_ended_task(store: Store) -> None:
    agent = Conducted()
    async with running(store, agent) as client:
        agent.put("done", None)
        ended = (await client.call("SendMessage", sending("hi"), "1.0"))["result"]["task"]
        refused = await client.call("SubscribeToTask", {"id": ended["id"]}, "1.0")
        assert refused["error"]["code"] == -32004


async def test_a_stream_that_waits_its_turn_is_told_when_it_is_cancelled(store: Store) -> None:
    agent = Gate()
    async with running(store, agent) as client:
        await client.send("first", message_id="m1", wait=False)
        await agent.seen(1)
        async with client.stream("SendStreamingMessage", sending("second", message_id="m2")) as stream:
            task = await began(stream)
            await client.call("CancelTask", {"id": task["id"]}, "1.0")
            assert (await stream.rest())[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_CANCELED"
        agent.let(1)
        assert [turn.text for turn in agent.turns] == ["first"]
