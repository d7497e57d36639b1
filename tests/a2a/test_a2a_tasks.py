"""One task over several messages: who follows it, what it is sent while it runs, and what it says when it is over."""

import asyncio
from typing import Any

import pytest
from tests.a2a.harness import Client, Conducted, Gate, Stream, message, running, sending, words
from tests.support.eventually import eventually

from holdfast.a2a import InputRequired, Reply, Status
from holdfast.core import Task, TaskState, types
from holdfast.store import Store, open_store
from holdfast.store.tasks.tasks import Tasks

VERSIONS = pytest.mark.parametrize("version", ["1.0", "0.3"])


async def say(client: Client, version: str, text: str, message_id: str, **more: Any) -> dict[str, Any]:
    """A message, and the task that it is answered with."""
    if version == "0.3":
        return await client.send(text, None if "taskId" in more else "c", message_id, **more)
    params = sending(text, None if "taskId" in more else "c", message_id, **more)
    task: dict[str, Any] = (await client.call("SendMessage", params, version))["result"]["task"]
    return task


def stream_of(client: Client, version: str, text: str, message_id: str) -> Any:
    if version == "0.3":
        return client.stream("message/stream", message(text, message_id=message_id), None)
    return client.stream("SendStreamingMessage", sending(text, message_id=message_id))


def subscription(client: Client, version: str, task_id: str) -> Any:
    if version == "0.3":
        return client.stream("tasks/resubscribe", {"id": task_id}, None)
    return client.stream("SubscribeToTask", {"id": task_id})


def state_of(item: dict[str, Any]) -> str | None:
    """The state that an item tells, if it tells one."""
    told = item.get("statusUpdate") or item.get("task") or item
    state = told.get("status", {}).get("state")
    return None if state is None else state.removeprefix("TASK_STATE_").lower().replace("_", "-")


async def next_state(stream: Stream) -> str:
    while (state := state_of(await stream.next())) is None:
        pass
    return state


@VERSIONS
async def test_who_follows_a_task_that_waits_for_input_is_told_how_it_goes_on(store: Store, version: str) -> None:
    agent = Conducted()
    async with running(store, agent) as client:
        agent.put(InputRequired("which?"))
        asks = await say(client, version, "hi", "m1")
        async with subscription(client, version, asks["id"]) as stream:
            assert await next_state(stream) == "input-required"
            agent.put("it is ")
            answering = asyncio.create_task(say(client, version, "blue", "m2", taskId=asks["id"]))
            assert [await next_state(stream), await next_state(stream)] == ["submitted", "working"]
            assert "it is " in str(await stream.next())
            agent.put("blue", None)
            rest = await stream.rest()
        assert "blue" in str(rest[0])
        assert state_of(rest[-1]) == "completed"
        assert words(await answering) == "it is blue"


async def test_a_subscription_of_1_0_stays_through_every_question(store: Store) -> None:
    agent = Conducted()
    async with running(store, agent) as client, stream_of(client, "1.0", "hi", "m1") as own:
        task_id = (await own.next())["task"]["id"]
        async with subscription(client, "1.0", task_id) as stream:
            agent.put(InputRequired("which?"))
            assert state_of((await own.rest())[-1]) == "input-required", "a message's own stream ends with its question"
            agent.put(InputRequired("and which size?"))
            await say(client, "1.0", "blue", "m2", taskId=task_id)
            agent.put("done", None)
            await say(client, "1.0", "large", "m3", taskId=task_id)
            rest = await stream.rest()
    states = [state for item in rest if (state := state_of(item))]
    assert "input-required" in states
    assert states[-1] == "completed"
    assert "done" in str(rest)


async def test_a_resubscription_of_0_3_ends_as_the_stream_that_it_resumes(store: Store) -> None:
    agent = Conducted()
    async with running(store, agent) as client, stream_of(client, "0.3", "hi", "m1") as own:
        task_id = (await own.next())["id"]
        async with subscription(client, "0.3", task_id) as stream:
            agent.put(InputRequired("which?"))
            last = (await stream.rest())[-1]
    assert (last["status"]["state"], last["final"]) == ("input-required", True)


async def test_a_task_that_waits_is_followed_through_another_gateway(postgres_url: str) -> None:
    agent = Conducted()
    async with (
        await open_store(postgres_url) as here,
        await open_store(postgres_url) as there,
        running(here, agent) as one,
        running(there, Gate()) as other,
    ):
        agent.put(InputRequired("which?"))
        asks = await say(one, "1.0", "hi", "m1")
        async with subscription(other, "1.0", asks["id"]) as stream:
            assert await next_state(stream) == "input-required"
            agent.put("blue", None)
            await say(one, "1.0", "blue", "m2", taskId=asks["id"])
            rest = await stream.rest()
        assert "blue" in str(rest)
        assert state_of(rest[-1]) == "completed"


@VERSIONS
async def test_a_message_to_a_running_task_is_answered_with_that_task(store: Store, version: str) -> None:
    gate = Gate()
    async with running(store, gate) as client:
        first = asyncio.create_task(say(client, version, "one", "m1"))
        await gate.seen(1)
        task_id = gate.turns[0].task_id
        more = [asyncio.create_task(say(client, version, text, text, taskId=task_id)) for text in ("two", "three")]

        async def waits() -> bool:
            return (await store.tasks.get(task_id)).document.get("waiting") == 2

        await eventually(waits)
        again = asyncio.create_task(say(client, version, "two", "two", taskId=task_id))
        gate.let(3)
        tasks = await asyncio.gather(first, *more, again)
    assert {task["id"] for task in tasks} == {task_id}
    assert sorted(turn.text for turn in gate.turns) == ["one", "three", "two"], "one turn each"
    assert {words(task) for task in tasks} == {"\n".join(f"did {turn.text}" for turn in gate.turns)}
    assert len(await store.read("agent:main:a2a:c", types=[types.MESSAGE])) == 6
    assert (await store.verification.session("agent:main:a2a:c")).problem is None


async def test_a_message_to_a_task_that_runs_on_another_gateway_is_taken_there(postgres_url: str) -> None:
    gate, idle = Gate(), Gate()
    async with (
        await open_store(postgres_url) as here,
        await open_store(postgres_url) as there,
        running(here, gate) as one,
        running(there, idle) as other,
    ):
        first = asyncio.create_task(say(one, "1.0", "one", "m1"))
        await gate.seen(1)
        await other.send("two", None, "m2", wait=False, taskId=gate.turns[0].task_id)
        gate.let(2)
        assert words(await first) == "did one\ndid two"
    assert idle.turns == []


async def test_a_message_that_comes_as_its_task_ends_is_not_left_behind(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, update, late = Gate(), Tasks.update, asyncio.Event()
    gate.let(2)
    async with running(store, gate) as client:

        async def slow(self: Tasks, task: Task, state: TaskState, *rest: Any, **more: Any) -> Task:
            if state is TaskState.COMPLETED and not late.is_set():
                late.set()
                await client.send("two", None, "m2", wait=False, taskId=task.task_id)
            return await update(self, task, state, *rest, **more)

        monkeypatch.setattr(Tasks, "update", slow)
        assert words(await client.send("one", message_id="m1")) == "did one\ndid two"


async def test_a_message_comes_before_its_task_ends_or_is_refused(store: Store) -> None:
    """Whenever it comes, a follow-up is answered in its task, or refused: never lost, never another task."""
    gate = Gate()
    gate.let(999)
    async with running(store, gate) as client:
        for number in range(20):
            task = await client.send("one", f"c{number}", wait=False)
            for _ in range(number):
                await asyncio.sleep(0)
            params = sending("two", None, "m2", taskId=task["id"])
            answer = await client.call("SendMessage", params, "1.0")
            if "error" in answer:
                assert answer["error"]["code"] == -32004
            else:
                assert answer["result"]["task"]["id"] == task["id"]
                assert words(answer["result"]["task"]) == "did one\ndid two"


@pytest.mark.parametrize(
    ("output", "told"),
    [(InputRequired("which?"), "painted"), (Reply.of("which?"), "which?\npainted")],
)
async def test_what_would_end_the_task_does_not_if_more_was_sent_already(
    store: Store, output: InputRequired | Reply, told: str
) -> None:
    agent = Conducted()
    async with running(store, agent) as client:
        first = asyncio.create_task(say(client, "1.0", "paint it", "m1"))

        async def begun() -> bool:
            return bool(agent.turns)

        await eventually(begun)
        await client.send("in blue", None, "m2", wait=False, taskId=agent.turns[0].task_id)
        agent.put(output, "painted", None)
        task = await first
    assert (task["status"]["state"], words(task)) == ("TASK_STATE_COMPLETED", told)
    assert [said.text for said in agent.turns[1].history] == ["paint it", "which?"]


@VERSIONS
async def test_what_a_task_says_of_itself_is_not_left_from_an_earlier_state(store: Store, version: str) -> None:
    agent = Conducted()
    async with running(store, agent) as client:
        agent.put(Status("working on it"), InputRequired("which?"))
        asks = await say(client, version, "hi", "m1")
        assert asks["status"]["message"]["parts"][0]["text"] == "which?"
        gone_on = await client.send("blue", None, "m2", wait=False, taskId=asks["id"])
        assert "message" not in gone_on["status"]
        agent.put(Status("working on it"), "done", None)
        assert "message" not in (await client.ended(asks["id"]))["status"]
        failing = await say_failing(client, agent)
        assert failing["status"]["message"]["parts"][0]["text"] == "the agent failed: TypeError"


async def say_failing(client: Client, agent: Conducted) -> dict[str, Any]:
    agent.put(Status("working on it"), 7)  # type: ignore[arg-type]
    return await client.send("fail", message_id="m3")


async def test_a_turn_that_was_broken_off_by_a_stop_runs_again_if_it_is_sent_again(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as client:
        first = await client.send("one", wait=False)
        await gate.seen(1)
    assert (await store.tasks.get(first["id"])).state is TaskState.FAILED
    gate.let(1)
    async with running(store, gate) as client:
        again = await client.send("one")
        assert again["id"] != first["id"]
        assert words(again) == "did one"
        assert await client.send("one") == again
    assert [said.text for said in gate.turns[1].history] == [], "it was said once"


async def test_a_turn_that_failed_by_itself_does_not_run_again(store: Store) -> None:
    agent = Conducted()
    agent.put(7)  # type: ignore[arg-type]
    async with running(store, agent) as client:
        failed = await client.send("one")
        assert await client.send("one") == failed
    assert len(agent.turns) == 1
