"""A server that lost a session, or a task, to another one: it changes nothing about the task any more.

The other server is played by the store's own calls, as a gateway makes them that found this one silent.
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from tests.a2a.harness import QUICK, SECONDS, Client, Conducted, Gate, message, running, words
from tests.support.eventually import eventually

from holdfast.a2a import Artifact, FilePart, InputRequired, Turn
from holdfast.a2a.handler import Output
from holdfast.a2a.turns import records
from holdfast.core import Lease, TaskState, types
from holdfast.core.errors import LeaseLost
from holdfast.core.ids import session_id_for
from holdfast.store import Store

SESSION = session_id_for("agent:main:a2a:c")
ASKED = {"underway": False, "messageSeq": 1, "lastSeq": 1}


async def sent(client: Client, text: str) -> str:
    """The id of a message's task, once it is accepted."""
    return str((await client.send(text, message_id=text, wait=False))["id"])


async def taken_over(store: Store, task_id: str) -> Lease:
    """Another gateway takes the session and the task."""
    await store.tasks.beat("other", 60_000)
    lease = await store.leases.acquire(SESSION, "other:turn", 60_000, take_over=True)
    await store.tasks.update(await store.tasks.get(task_id), TaskState.SUBMITTED, lease=lease, owner="other")
    return lease


async def stopped(gate: Gate | Conducted, text: str) -> None:
    async def was() -> bool:
        return text in gate.interrupted

    await eventually(was)


async def settled(client: Client) -> None:
    """Wait until nothing of this server's is under way: a turn of another context has come and gone."""
    await client.send("aside", "elsewhere", "aside")


async def test_a_question_that_another_asked_stays_open_and_is_answered(store: Store, tmp_path: Path) -> None:
    agent = Conducted()
    async with running(store, agent, resume=True, workspace=tmp_path) as client:
        task_id = await sent(client, "one")

        async def begun() -> bool:
            return len(agent.turns) == 1

        await eventually(begun)
        lease = await taken_over(store, task_id)
        asked = await store.tasks.update(
            await store.tasks.get(task_id), TaskState.INPUT_REQUIRED, ASKED, lease=lease, owned_by="other"
        )
        await store.leases.release(lease)
        await stopped(agent, "one")
        agent.put("done", None)
        await settled(client)
        assert await store.tasks.get(task_id) == asked, "whoever lost the session changes nothing about the task"
        agent.put("thank you", None)
        answer = await client.send("blue", message_id="m2", taskId=task_id)
        assert (answer["status"]["state"], words(answer)) == ("completed", "thank you")


async def test_a_queued_turn_that_another_ran_is_not_run_again(store: Store, tmp_path: Path) -> None:
    gate = Gate()
    async with running(store, gate, resume=True, workspace=tmp_path) as client:
        await sent(client, "one")
        await gate.seen(1)
        queued = await sent(client, "two")
        lease = await taken_over(store, queued)
        asked = await store.tasks.update(await store.tasks.get(queued), TaskState.INPUT_REQUIRED, ASKED, lease=lease)
        await store.leases.release(lease)
        await stopped(gate, "one")
        gate.let(9)
        await settled(client)

        async def again() -> bool:
            return [turn.text for turn in gate.turns if turn.text == "one"] == ["one", "one"]

        await eventually(again)
        await client.send("three", message_id="three")
        assert await store.tasks.get(queued) == asked
    assert "two" not in [turn.text for turn in gate.turns]


async def test_a_queued_turn_that_another_has_taken_is_left_to_it(store: Store, tmp_path: Path) -> None:
    gate = Gate()
    async with running(store, gate, resume=True, workspace=tmp_path) as client:
        first = await sent(client, "one")
        await gate.seen(1)
        queued = await sent(client, "two")
        lease = await taken_over(store, queued)
        await store.leases.release(lease)
        gate.let(9)
        await client.ended(first)
        await client.send("three", message_id="three")
        assert (await store.tasks.get(queued)).state is TaskState.SUBMITTED
    assert "two" not in [turn.text for turn in gate.turns]


async def test_a_turn_that_lost_its_lease_and_was_not_taken_is_begun_again_here(store: Store, tmp_path: Path) -> None:
    gate = Gate()
    async with running(store, gate, resume=True, workspace=tmp_path) as client:
        waiting = asyncio.create_task(client.call("message/send", message("one", message_id="one")))
        await gate.seen(1)
        await store.leases.release(await store.leases.acquire(SESSION, "usurper", 60_000, take_over=True))
        await gate.seen(2)
        gate.let(1)
        async with asyncio.timeout(SECONDS):
            task = (await waiting)["result"]
    assert (task["status"]["state"], words(task)) == ("completed", "did one"), "who waits is told of the end"
    assert [turn.interrupted for turn in gate.turns] == [False, True]
    assert records.tries(await store.tasks.get(task["id"])) == 1


async def test_a_turn_is_begun_by_its_owner_only_and_once(store: Store, tmp_path: Path) -> None:
    """The runs of a message are begun in the store: as many as were counted there, whoever comes."""
    agent = Conducted()
    agent.put(InputRequired("which colour?"), "blue it is", None)
    async with running(store, agent, resume=True, workspace=tmp_path) as client:
        asked = await client.send("paint it", message_id="m1")
        assert asked["status"]["state"] == "input-required"
        assert (await client.send("blue", message_id="m2", taskId=asked["id"]))["status"]["state"] == "completed"
    begun = [event.value() for event in await store.read(SESSION, types=(types.TASK_UPDATED,))]
    assert [change["changes"]["lastSeq"] for change in begun if "lastSeq" in change["changes"]] == [
        event.seq for event in await store.read(SESSION, types=(types.MESSAGE,)) if event.value()["role"] == "user"
    ]


async def test_what_an_older_turn_remembers_never_replaces_what_a_newer_one_does(store: Store, tmp_path: Path) -> None:
    """Each turn waits until the other server has been at work, and then writes all that a turn can write."""
    usurped, refused = asyncio.Event(), []

    async def slow(turn: Turn) -> AsyncIterator[Output]:
        await usurped.wait()
        for write in (
            turn.store.memories.put("agent:main", "colour", "red"),
            turn.store.usage.record(turn.session_id, "m", input_tokens=1, output_tokens=1),
            turn.store.checkpoints.compact(turn.session_id, {"text": "red"}, last_seq=1),
            turn.store.attachments.put(b"red"),
        ):
            try:
                await write
            except LeaseLost as error:
                refused.append(error)
        yield Artifact((FilePart(base64.b64encode(b"red").decode(), filename="red.txt"),))

    unaware = replace(QUICK, renew_seconds=3_600, look_seconds=3_600)  # until a write of its own is refused
    async with running(store, slow, workspace=tmp_path, timing=unaware) as client:
        task_id = await sent(client, "one")

        async def begun() -> bool:
            return (await store.tasks.get(task_id)).state is TaskState.WORKING

        await eventually(begun)
        newer = store.under(await taken_over(store, task_id))
        await newer.memories.put("agent:main", "colour", "green")
        usurped.set()

        async def heard() -> bool:
            return len(refused) == 4

        await eventually(heard)
    assert (await store.memories.get("agent:main", "colour")).value() == "green"
    assert (await store.usage.session(SESSION)).calls == 0
    assert await store.attachments.of_session(SESSION) == []
    assert await store.checkpoints.list(SESSION) == []
