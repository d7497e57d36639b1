"""A message that is erased before its turn begins: the task ends, and the conversation goes on."""

from pathlib import Path

from tests.a2a.harness import Conducted, Gate, running, words

from holdfast.a2a import InputRequired
from holdfast.core import types
from holdfast.core.ids import session_id_for
from holdfast.store import Store

SESSION = session_id_for("agent:main:a2a:c")


async def erase(store: Store, text: str) -> None:
    """Erase the message with this text."""
    for event in await store.read(SESSION, types=(types.MESSAGE,)):
        if event.value()["parts"] == [{"text": text}]:
            await store.erasure.erase(SESSION, [event.seq], reason="asked for")


async def test_a_task_that_waits_for_its_turn_ends(store: Store, tmp_path: Path) -> None:
    gate = Gate()
    async with running(store, gate, resume=True, workspace=tmp_path) as client:
        await client.send("one", message_id="m1", wait=False)
        await gate.seen(1)
        queued = await client.send("two", message_id="m2", wait=False)
        await erase(store, "two")
        gate.let(9)
        ended = await client.ended(queued["id"])
        assert ended["status"]["state"] == "failed"
        assert "erased" in ended["status"]["message"]["parts"][0]["text"]
        assert words(await client.send("three", message_id="m3")) == "did three"
    assert [turn.text for turn in gate.turns] == ["one", "three"]


async def test_a_message_that_waits_in_a_running_task_leaves_it_completed(store: Store, tmp_path: Path) -> None:
    gate = Gate()
    async with running(store, gate, resume=True, workspace=tmp_path) as client:
        task = await client.send("one", message_id="m1", wait=False)
        await gate.seen(1)
        await client.send("more", message_id="m2", wait=False, taskId=task["id"])
        await erase(store, "more")
        gate.let(9)
        ended = await client.ended(task["id"])
    assert (ended["status"]["state"], words(ended)) == ("completed", "did one")
    assert "message" not in ended["status"]


async def test_an_answer_to_a_question_that_is_erased_ends_the_task(store: Store, tmp_path: Path) -> None:
    agent, gate = Conducted(), Gate()
    agent.put(InputRequired("which?"))

    async def asks_then_waits(turn):  # type: ignore[no-untyped-def]
        handler = agent if turn.text == "paint it" else gate
        async for output in handler(turn):
            yield output

    async with running(store, asks_then_waits, resume=True, workspace=tmp_path) as client:
        asked = await client.send("paint it", message_id="m1")
        await client.send("aside", message_id="m2", wait=False)
        await gate.seen(1)
        await client.send("blue", message_id="m3", wait=False, taskId=asked["id"])
        await erase(store, "blue")
        gate.let(9)
        assert (await client.ended(asked["id"]))["status"]["state"] == "failed"
