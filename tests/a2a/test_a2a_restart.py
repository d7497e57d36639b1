"""What a killed or stopped server leaves: every task ends, and the conversation goes on."""

import asyncio
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path

import httpx2
import pytest
from tests.a2a import stubborn_agent
from tests.a2a.harness import (
    SECONDS,
    Client,
    Gate,
    agent_process,
    exit_code,
    free_port,
    listening,
    message,
    running,
    tell,
    words,
)
from tests.support.clocks import MovedClock
from tests.support.eventually import eventually
from tests.support.processes import Process, holdfast
from tests.support.web import async_web_client

from holdfast.a2a import A2AServer
from holdfast.core import NewEvent, types
from holdfast.store import Store, open_store


def process(data: Path, port: int) -> AbstractAsyncContextManager[Process]:
    """A server process that answers; killed at the end if it still runs."""
    return agent_process(holdfast(str(data), str(port), module=stubborn_agent.__name__), port)


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
async def client(port: int) -> AsyncIterator[Client]:
    limits = httpx2.Limits(max_keepalive_connections=0)
    async with async_web_client(timeout=SECONDS, limits=limits) as http:
        yield Client(f"http://127.0.0.1:{port}", http)


async def working(data: Path) -> None:
    """Wait until the agent is in the middle of the turn that it never ends."""

    async def waiting() -> bool:
        return (data / "workspace" / "waiting").exists()

    await eventually(waiting)


async def test_after_a_kill_the_running_task_fails_what_was_queued_runs_and_the_conversation_goes_on(
    tmp_path: Path, port: int, client: Client
) -> None:
    async with process(tmp_path, port) as child:
        await client.send("one", message_id="m1")
        cut = await client.send("wait", message_id="m2", wait=False)
        queued = [(await client.send(text, message_id=text, wait=False))["id"] for text in ("later", "last")]
        await working(tmp_path)
        child.kill()
        await exit_code(child)
    async with process(tmp_path, port):
        task = await client.ended(cut["id"])
        assert task["status"]["state"] == "failed"
        assert "interrupted by a restart" in task["status"]["message"]["parts"][0]["text"]
        told = [words(await client.ended(task_id)) for task_id in queued]
        assert told == ["one | one | wait | later", "one | one | wait | later | one | one | wait | later | last"]
        (tmp_path / "workspace" / "waiting").unlink()
        again = await client.send("wait", message_id="m2", wait=False)
        assert again["id"] != cut["id"]
        await working(tmp_path)
        assert (await client.send("wait", message_id="m2", wait=False))["id"] == again["id"]


async def test_after_a_kill_the_text_that_had_come_is_in_the_task_and_in_the_conversation(
    tmp_path: Path, port: int, client: Client
) -> None:
    async with process(tmp_path, port) as child:
        cut = await client.send("half", message_id="m1", wait=False)

        async def is_kept() -> bool:
            with closing(sqlite3.connect(f"file:{tmp_path}/holdfast.db?mode=ro", uri=True)) as store:
                return bool(store.execute("SELECT text FROM task_texts").fetchone() == (b"half an answer",))

        await eventually(is_kept)
        child.kill()
        await exit_code(child)
    async with process(tmp_path, port):
        task = await client.ended(cut["id"])
        assert (task["status"]["state"], words(task)) == ("failed", "half an answer")
        assert words(await client.send("two", message_id="m2")) == "half | half an answer | two"


async def test_a_stopped_process_exits_well_and_fails_what_still_runs(
    tmp_path: Path, port: int, client: Client
) -> None:
    async with process(tmp_path, port) as child:
        await client.send("one", message_id="m1")
        waiting = asyncio.create_task(client.call("message/send", message("wait", message_id="m2")))
        await working(tmp_path)
        child.send_signal(signal.SIGTERM)
        task = (await waiting)["result"]
        assert task["status"]["state"] == "failed"
        assert "the server stopped" in task["status"]["message"]["parts"][0]["text"]
        assert await exit_code(child) == 0
    async with process(tmp_path, port):
        assert words(await client.send("two", message_id="m3")) == "one | one | wait | two"


async def test_one_folder_has_one_server(tmp_path: Path, port: int) -> None:
    async with process(tmp_path, port):
        with holdfast(str(tmp_path), "0", module=stubborn_agent.__name__) as second:
            _, said = await asyncio.to_thread(second.communicate, timeout=SECONDS)
    assert second.returncode == 2
    assert "holds" in said and "holdfast.lock" in said


async def begin(store: Store, task_id: str, owner: str) -> None:
    event = NewEvent(types.MESSAGE, {"role": "user", "taskId": task_id, "parts": [{"text": "left"}]})
    key = await store.keys.resolve("agent:main:a2a:c", session_id="agent:main:a2a:c")
    await store.tasks.begin(key.session_id, task_id, "c", event, owner=owner)


async def test_a_task_is_left_alone_until_its_owner_is_silent(sqlite_url: str) -> None:
    clock = MovedClock()
    async with await open_store(sqlite_url, clock=clock) as store:
        await store.tasks.beat("elsewhere", 60_000)
        await begin(store, "t1", "elsewhere")
        async with running(store, tell, alone=False) as client:
            await client.send("one", "another context")
            assert (await client.get("t1"))["status"]["state"] == "submitted"
            clock.ahead = 120_000
            assert (await client.ended("t1"))["status"]["state"] == "completed"


async def test_a_server_that_is_alone_declares_all_others_dead(store: Store) -> None:
    await store.tasks.beat("elsewhere", 600_000)
    await store.leases.acquire("agent:main:a2a:c", "elsewhere", 600_000)
    await begin(store, "t1", "elsewhere")
    async with running(store, tell, alone=True) as client:
        assert (await client.ended("t1"))["status"]["state"] == "completed"
        assert words(await client.send("one")) == "user:left | agent:left | one"


async def test_orphans_of_every_tenant_are_run(store: Store, tmp_path: Path) -> None:
    other = store.for_tenant("other")
    await begin(other, "t1", "dead")
    async with running(store, tell, workspace=tmp_path / "workspace"):

        async def completed() -> bool:
            return (await other.tasks.get("t1")).state.value == "completed"

        await eventually(completed)


async def test_stop_gives_running_turns_their_grace_and_takes_no_new_ones(store: Store, tmp_path: Path) -> None:
    gate = Gate()
    server = A2AServer(store, gate, version="1", workspace=tmp_path, url="http://127.0.0.1:1")
    await server.start(alone=True)
    async with listening(server) as client:
        sent = asyncio.create_task(client.send("one"))
        await gate.seen(1)
        stopping = asyncio.create_task(server.stop(SECONDS))
        envelope = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": message("two", "d")}
        refused = await client.http.post(client.url + "/a2a", json=envelope)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, -32603)
        gate.let(9)
        assert words(await sent) == "did one"
        await stopping
    assert [turn.text for turn in gate.turns] == ["one"]
