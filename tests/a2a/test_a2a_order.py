"""Turns of one conversation run one after the other, and each knows what came before."""

import asyncio

from tests.a2a.harness import Client, Gate, running, tell, words
from tests.support.eventually import eventually

from holdfast.a2a import Turn
from holdfast.core import NewEvent, types
from holdfast.store import Store, open_store

SESSION = "agent:main:a2a:c"


def heard(turn: Turn) -> list[tuple[str, str]]:
    return [(said.role.value, said.text) for said in turn.history]


async def accepted(client: Client, *texts: str) -> list[str]:
    """Send messages one after the other without waiting; the ids of their tasks."""
    return [(await client.send(text, message_id=text, wait=False))["id"] for text in texts]


async def test_turns_of_one_context_run_one_at_a_time_in_order(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as client:
        ids = await accepted(client, "one", "two", "three")
        await gate.seen(1)
        assert [(await client.get(task_id))["status"]["state"] for task_id in ids[1:]] == ["submitted"] * 2
        gate.let(3)
        for task_id in ids:
            await client.ended(task_id)
    assert gate.most_at_once == 1
    assert [turn.text for turn in gate.turns] == ["one", "two", "three"]
    assert [heard(turn) for turn in gate.turns] == [
        [],
        [("user", "one"), ("agent", "did one")],
        [("user", "one"), ("agent", "did one"), ("user", "two"), ("agent", "did two")],
    ]


async def test_turns_of_two_contexts_run_at_once_and_know_nothing_of_each_other(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as client, asyncio.TaskGroup() as group:
        group.create_task(client.send("one", "a"))
        group.create_task(client.send("two", "b"))
        await gate.seen(2)
        gate.let(2)
    assert gate.most_at_once == 2
    assert [heard(turn) for turn in gate.turns] == [[], []]


async def test_turns_on_two_servers_of_one_store_exclude_each_other(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as one, running(store, gate) as other:
        [first] = await accepted(one, "one")
        await gate.seen(1)
        [second] = await accepted(other, "two")
        gate.let(2)
        await one.ended(first)
        await one.ended(second)
    assert gate.most_at_once == 1
    assert heard(gate.turns[1]) == [("user", "one"), ("agent", "did one")]


async def test_turns_on_two_gateways_exclude_each_other_on_every_engine(store_url: str) -> None:
    gate = Gate()
    gate.let(99)
    async with (
        await open_store(store_url) as store,
        await open_store(store_url) as same,
        running(store, gate) as one,
        running(same, gate) as other,
    ):
        async with asyncio.TaskGroup() as group:
            for number in range(6):
                group.create_task((one, other)[number % 2].send(str(number), message_id=str(number)))
            twice = [group.create_task(client.send("again", message_id="again")) for client in (one, other)]
        assert twice[0].result() == twice[1].result()
        assert (await same.verification.session(SESSION)).problem is None
    assert gate.most_at_once == 1
    assert sorted(turn.text for turn in gate.turns) == ["0", "1", "2", "3", "4", "5", "again"]
    answers = [sum(role == "agent" for role, _ in heard(turn)) for turn in gate.turns]
    assert answers == list(range(7))


async def test_a_turn_that_was_fenced_off_does_not_write_its_answer(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as client:
        [task_id] = await accepted(client, "one")
        await gate.seen(1)
        usurper = await store.leases.acquire(SESSION, "usurper", 60_000, take_over=True)
        gate.let(1)
        await store.leases.release(usurper)
        task = await client.ended(task_id)
    assert task["status"]["state"] == "failed", "it may not be begun again, as this agent does not allow that"
    assert "was interrupted" in task["status"]["message"]["parts"][0]["text"]
    assert [event.value()["role"] for event in await store.read(SESSION, types=[types.MESSAGE])] == ["user"]


async def test_a_lost_lease_stops_the_work(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as client:
        await accepted(client, "one")
        await gate.seen(1)
        await store.leases.acquire(SESSION, "usurper", 1, take_over=True)

        async def stopped() -> bool:
            return gate.interrupted == ["one"]

        await eventually(stopped)


async def test_a_follow_up_by_task_alone_is_in_the_same_conversation(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as client:
        [task_id] = await accepted(client, "one")
        await gate.seen(1)
        follow_up = await client.send("two", None, "m2", wait=False, taskId=task_id)
        assert (follow_up["id"], follow_up["contextId"]) == (task_id, "c")
        gate.let(2)
        assert words(await client.ended(task_id)) == "did one\ndid two"
        assert heard(gate.turns[1]) == [("user", "one"), ("agent", "did one")]
        await client.send("three", message_id="m3", wait=False)
        await gate.seen(3)
    assert heard(gate.turns[2]) == [("user", "one"), ("agent", "did one"), ("user", "two"), ("agent", "did two")]


async def test_a_follow_up_must_fit_its_task(store: Store) -> None:
    gate = Gate()
    sent = {"messageId": "m2", "role": "ROLE_USER", "parts": [{"text": "two"}]}
    async with running(store, gate) as client:
        [task_id] = await accepted(client, "one")
        mismatch = await client.call("SendMessage", {"message": sent | {"taskId": task_id, "contextId": "d"}}, "1.0")
        assert mismatch["error"]["code"] == -32602
        gate.let(1)
        await client.ended(task_id)
        ended = await client.call("SendMessage", {"message": sent | {"taskId": task_id}}, "1.0")
        assert ended["error"]["code"] == -32004
        assert ended["error"]["data"][0]["reason"] == "UNSUPPORTED_OPERATION"
        assert ended["error"]["data"][0]["metadata"] == {"taskId": task_id, "contextId": "c"}


async def test_what_others_said_in_the_session_is_heard(store: Store) -> None:
    async with running(store, tell) as client:
        await client.send("one", message_id="m1")
        await store.append(SESSION, [NewEvent(types.MESSAGE, {"role": "user", "parts": [{"text": "by the way"}]})])
        await store.append(SESSION, [NewEvent(types.MESSAGE, "of another shape")])
        assert words(await client.send("two", message_id="m2")) == "user:one | agent:one | user:by the way | two"
