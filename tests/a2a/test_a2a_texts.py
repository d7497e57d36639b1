"""The text of a turn that is not over: where it runs, elsewhere, after a cancel and after a kill."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.a2a.harness import QUICK, Client, Conducted, running, sending, words
from tests.support.eventually import eventually

from holdfast.core import types
from holdfast.store import Store, open_store

SESSION = "agent:main:a2a:c"
OFTEN = replace(QUICK, keep_seconds=0.02)


async def begun(client: Client, agent: Conducted, *pieces: str) -> str:
    """A turn that has said so much; the id of its task."""
    agent.put(*pieces)
    async with client.stream("SendStreamingMessage", sending("hi")) as stream:
        task_id: str = (await stream.next())["task"]["id"]
        while pieces[-1] not in str(await stream.next()):
            pass
    return task_id


async def got(client: Client, task_id: str, version: str = "1.0") -> dict[str, Any]:
    """The task."""
    method = "tasks/get" if version == "0.3" else "GetTask"
    task: dict[str, Any] = (await client.call(method, {"id": task_id}, version))["result"]
    return task


async def kept(store: Store, task_id: str, text: str) -> None:
    """Wait until so much is kept."""

    async def is_kept() -> bool:
        found = await store.task_texts.get(task_id)
        return found is not None and found.text == text

    await eventually(is_kept)


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_it_is_in_the_task_while_it_runs_and_after_a_cancel(store: Store, version: str) -> None:
    agent = Conducted()
    async with running(store, agent, timing=OFTEN) as client:
        task_id = await begun(client, agent, "one ", "two")
        now = await got(client, task_id, version)
        assert words(now) == "one two"
        method = "tasks/cancel" if version == "0.3" else "CancelTask"
        ended = (await client.call(method, {"id": task_id}, version))["result"]
        assert ended["artifacts"] == now["artifacts"]
        assert (await got(client, task_id, version))["artifacts"] == now["artifacts"]
        agent.put("next", None)
        await client.send("and now?", message_id="m2")
    assert [said.text for said in agent.turns[1].history] == ["hi", "one two"], "the conversation has what was said"
    assert await store.task_texts.get(task_id) is None


async def test_it_is_no_event_and_goes_when_the_task_rests(store: Store) -> None:
    agent = Conducted()
    async with running(store, agent, timing=OFTEN) as client:
        task_id = await begun(client, agent, "one ")
        await kept(store, task_id, "one ")
        events = len(await store.read(SESSION))
        agent.put("two")
        await kept(store, task_id, "one two")
        assert len(await store.read(SESSION)) == events
        agent.put(None)
        assert words(await client.ended(task_id)) == "one two"
    assert await store.task_texts.get(task_id) is None


async def test_it_is_seen_and_canceled_through_another_gateway(postgres_url: str) -> None:
    agent = Conducted()
    async with (
        await open_store(postgres_url) as here,
        await open_store(postgres_url) as there,
        running(here, agent, timing=OFTEN) as one,
        running(there, Conducted(), timing=OFTEN) as other,
    ):
        task_id = await begun(one, agent, "one ", "two")
        await kept(there, task_id, "one two")
        now = await got(other, task_id)
        assert words(now) == "one two"
        assert now["artifacts"] == (await got(one, task_id))["artifacts"]
        async with other.stream("SubscribeToTask", {"id": task_id}) as stream:
            assert (await stream.next())["task"]["artifacts"] == now["artifacts"]
        ended = (await other.call("CancelTask", {"id": task_id}, "1.0"))["result"]
        assert ended["artifacts"] == now["artifacts"]
        assert words(await got(one, task_id)) == "one two"


@pytest.mark.parametrize("resume", [False, True])
async def test_it_is_there_after_its_process_died(store_url: str, tmp_path: Path, resume: bool) -> None:
    async with await open_store(store_url) as store:
        agent = Conducted()
        dies = replace(OFTEN, round_seconds=3600.0)  # it does not look for what the dead left, so not for its own
        async with running(store, agent, workspace=tmp_path, timing=dies) as client:
            task_id = await begun(client, agent, "one ", "two")
            await kept(store, task_id, "one two")
            left = await store.tasks.get(task_id)
            text = await store.task_texts.get(task_id)
            await orphaned(store, task_id)
            async with running(
                store, next_agent := Conducted(), resume=resume, workspace=tmp_path, timing=OFTEN
            ) as after:
                if resume:

                    async def begun_again() -> bool:
                        return bool(next_agent.turns)

                    await eventually(begun_again)
                    assert words(await got(after, task_id)) == "one two", "until it says something else"
                    next_agent.put("three", None)
                ended = await after.ended(task_id)
    assert left.state.running and text is not None
    assert ended["status"]["state"] == ("completed" if resume else "failed")
    assert words(ended) == ("three" if resume else "one two")
    assert ended["artifacts"][0]["artifactId"] == text.artifact_id


async def orphaned(store: Store, task_id: str) -> None:
    """Have a task as one leaves it who dies in it: its owner is nobody, its session free."""
    task = await store.tasks.get(task_id)
    lease = await store.leases.acquire(task.session_id, "death", 60_000, take_over=True)
    await store.tasks.update(task, task.state, owner="dead", lease=lease)
    await store.leases.release(lease)


async def test_it_goes_with_its_session(store_url: str) -> None:
    agent = Conducted()
    async with await open_store(store_url) as store, running(store, agent, timing=OFTEN) as client:
        task_id = await begun(client, agent, "one ")
        await kept(store, task_id, "one ")
        (said, *_) = await store.read(SESSION, types=(types.MESSAGE,))
        await store.deletion.delete(SESSION)
        assert await store.task_texts.get(task_id) is None
        assert said.value()["taskId"] == task_id
