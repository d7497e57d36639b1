"""A turn that a process died in: begun again where the agent allows it, a few times, and never after an answer."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tests.a2a.harness import QUICK, Conducted, running, sending, words
from tests.support.eventually import eventually

from holdfast.a2a.handler import InputRequired
from holdfast.a2a.protocol.wire import Message, Role, TextPart
from holdfast.a2a.turns import keys, records
from holdfast.core import NewEvent, Task, TaskState, types
from holdfast.core.errors import LeaseHeld
from holdfast.store import Store, open_store

KEY = keys.session_key("main", "c")


def said(role: Role, text: str) -> NewEvent:
    """A message of the task."""
    return NewEvent(types.MESSAGE, records.message_record(Message(role, f"m-{text}", (TextPart(text),), "c", "t")))


async def left_behind(store: Store, *more: NewEvent, tries: int = 0) -> Task:
    """A turn as a process leaves it that dies in it."""
    entry = await store.keys.resolve(KEY, session_id="s")
    begun = await store.tasks.begin(entry.session_id, "t", "c", said(Role.USER, "hi"), owner="dead")
    changes = {"messageSeq": 1, "lastSeq": 1} | ({"tries": tries} if tries else {})
    task = await store.tasks.update(begun.task, TaskState.WORKING, changes)
    return await store.tasks.update(task, TaskState.WORKING, {}, messages=more) if more else task


async def state(store: Store) -> TaskState:
    return (await store.tasks.get("t")).state


async def end_of(store: Store) -> TaskState:
    """How the turn ends, once it does."""

    async def ended() -> bool:
        return (await state(store)).terminal

    await eventually(ended)
    return await state(store)


async def test_it_is_begun_again_and_knows_it(store: Store, tmp_path: Path) -> None:
    await left_behind(store)
    agent = Conducted()
    async with running(store, agent, alone=True, resume=True, workspace=tmp_path) as client:
        async with client.stream("SubscribeToTask", {"id": "t"}) as stream:
            agent.put("answered", None)
            rest = await stream.rest()
        assert rest[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
        task = (await client.call("GetTask", {"id": "t"}, "1.0"))["result"]
    assert words(task) == "answered"
    assert "message" not in task["status"], "that it was begun again is no longer so"
    assert [(turn.text, turn.interrupted, turn.history) for turn in agent.turns] == [("hi", True, ())]
    changes = [event.value()["changes"] for event in await store.read("s", types=(types.TASK_UPDATED,))]
    (note,) = [change["statusMessage"]["parts"] for change in changes if change.get("tries") == 1]
    assert "begun again" in note[0]["text"]


async def marks(store: Store) -> list[str]:
    """What the session was marked as, in order."""
    return [event.value()["status"] for event in await store.read("s", types=(types.SESSION_FINALIZED,))]


async def test_its_session_is_interrupted_until_it_is_at_work_again(store: Store, tmp_path: Path) -> None:
    await left_behind(store)
    agent = Conducted()
    agent.put("answered", None)
    async with running(store, agent, alone=True, resume=True, workspace=tmp_path):
        await end_of(store)
    assert await marks(store) == ["interrupted", "active"]
    assert (await store.sessions.get("s")).status == "active"
    assert (await store.verification.session("s")).problem is None


async def test_its_session_has_failed_and_is_active_again_with_the_next_turn(store: Store) -> None:
    await left_behind(store)
    agent = Conducted()
    async with running(store, agent, alone=True) as client:
        assert await end_of(store) is TaskState.FAILED
        session = await store.sessions.get("s")
        assert session.status == "failed"
        assert session.final is not None
        assert session.final["outcome"] == {"taskId": "t"}
        (marked,) = await store.read("s", types=(types.SESSION_FINALIZED,))
        assert session.final["at"] == marked.created_at
        agent.put("here", None)
        await client.call("SendMessage", sending("again"), "1.0")
    assert await marks(store) == ["failed", "active"]
    assert (await store.sessions.get("s")).status == "active"
    assert (await store.verification.session("s")).problem is None


async def test_without_leave_it_fails_and_its_followers_end(store: Store) -> None:
    await left_behind(store)
    agent = Conducted()
    async with running(store, agent, alone=True):
        assert await end_of(store) is TaskState.FAILED
    assert agent.turns == []


@pytest.mark.parametrize("resume", [False, True])
async def test_one_that_was_accepted_and_not_begun_runs_in_any_case(store: Store, resume: bool, tmp_path: Path) -> None:
    entry = await store.keys.resolve(KEY, session_id="s")
    first = await store.tasks.begin(entry.session_id, "t", "c", said(Role.USER, "hi"), owner="dead")
    await store.tasks.go_on(first.task, said(Role.USER, "more"), owner="dead", idempotency_key="k")
    agent = Conducted()
    agent.put("one", None, "two", None)
    async with running(store, agent, alone=True, resume=resume, workspace=tmp_path):
        assert await end_of(store) is TaskState.COMPLETED
    assert [(turn.text, turn.interrupted) for turn in agent.turns] == [("hi", False), ("more", False)]
    assert records.tries(await store.tasks.get("t")) == 0


@pytest.mark.parametrize(("tries", "begun"), [(1, True), (2, True), (3, False)])
async def test_it_is_begun_three_times_more_at_most(store: Store, tries: int, begun: bool, tmp_path: Path) -> None:
    await left_behind(store, tries=tries)
    agent = Conducted()
    agent.put("answered", None)
    async with running(store, agent, alone=True, resume=True, workspace=tmp_path):
        await end_of(store)
    assert await state(store) is (TaskState.COMPLETED if begun else TaskState.FAILED)
    assert len(agent.turns) == begun
    assert records.tries(await store.tasks.get("t")) == tries + begun


async def test_a_turn_that_its_servers_die_in_is_not_begun_again_by_a_redelivery(store: Store, tmp_path: Path) -> None:
    """The bound is one: a client that delivers its message again and again does not lift it."""
    entry = await store.keys.resolve(KEY, session_id="s")
    message = Message(Role.USER, "poison", (TextPart("poison"),), "c")
    own = records.message_record(replace(message, task_id="t"))
    event = NewEvent(types.MESSAGE, own, idempotency_key=keys.delivery_key(message))
    begun = await store.tasks.begin(entry.session_id, "t", "c", event, owner="dead")
    await store.tasks.update(begun.task, TaskState.WORKING, {"messageSeq": 1, "lastSeq": 1, "tries": 3})
    agent = Conducted()
    async with running(store, agent, alone=True, resume=True, workspace=tmp_path) as client:
        assert await end_of(store) is TaskState.FAILED
        again = (await client.call("SendMessage", sending("poison", message_id="poison"), "1.0"))["result"]["task"]
    assert (again["id"], again["status"]["state"]) == ("t", "TASK_STATE_FAILED")
    assert "4 times" in again["status"]["message"]["parts"][0]["text"]
    assert agent.turns == []


async def test_the_session_is_held_while_a_turn_waits_to_be_begun_again(store: Store, tmp_path: Path) -> None:
    timing = replace(QUICK, pauses=(2.0,), lease_ms=1_000)
    await left_behind(store)
    agent = Conducted()
    agent.put("answered", None)
    async with running(store, agent, alone=True, resume=True, workspace=tmp_path, timing=timing):

        async def counted() -> bool:
            return records.tries(await store.tasks.get("t")) == 1

        await eventually(counted)
        while not agent.turns:
            with pytest.raises(LeaseHeld):
                await store.leases.acquire("s", "another", 1)
            await asyncio.sleep(0.05)
        assert await end_of(store) is TaskState.COMPLETED


async def test_after_the_agent_has_said_something_it_is_not_begun_again(store: Store, tmp_path: Path) -> None:
    await left_behind(store, said(Role.AGENT, "a first result"))
    agent = Conducted()
    async with running(store, agent, alone=True, resume=True, workspace=tmp_path):
        assert await end_of(store) is TaskState.FAILED
    assert agent.turns == []


async def test_who_followed_it_on_another_gateway_sees_its_end(postgres_url: str, tmp_path: Path) -> None:
    async with await open_store(postgres_url) as here, await open_store(postgres_url) as there:
        await there.tasks.beat("dead", 1_500)
        await left_behind(here)
        agent = Conducted()
        async with (
            running(here, agent, resume=True, workspace=tmp_path) as client,
            client.stream("SubscribeToTask", {"id": "t"}) as stream,
        ):
            assert (await stream.next())["task"]["status"]["state"] == "TASK_STATE_WORKING"
            agent.put("answered", None)
            assert (await stream.rest())[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_message_behind_it_runs_after_it(store: Store, tmp_path: Path) -> None:
    await left_behind(store)
    agent = Conducted()
    async with (
        running(store, agent, alone=True, resume=True, workspace=tmp_path) as client,
        client.stream("SendStreamingMessage", sending("next", message_id="m2")) as stream,
    ):
        agent.put("first", None, "second", None)
        await stream.rest()
    assert [turn.text for turn in agent.turns] == ["hi", "next"]
    assert [past.text for past in agent.turns[1].history] == ["hi", "first"]


async def test_the_tries_of_one_turn_do_not_count_for_the_next(store: Store, tmp_path: Path) -> None:
    await left_behind(store, tries=2)
    agent = Conducted()
    async with running(store, agent, alone=True, resume=True, workspace=tmp_path) as client:
        agent.put(InputRequired("and then?"))

        async def asks() -> bool:
            return (await state(store)) is TaskState.INPUT_REQUIRED

        await eventually(asks)
        assert records.tries(await store.tasks.get("t")) == 3
        going_on = sending("go on", message_id="m2", taskId="t") | {"configuration": {"returnImmediately": True}}
        await client.call("SendMessage", going_on, "1.0")

        async def is_at_work() -> bool:
            return len(agent.turns) == 2

        await eventually(is_at_work)
        assert records.tries(await store.tasks.get("t")) == 0
        agent.put("answered", None)
        assert await end_of(store) is TaskState.COMPLETED
