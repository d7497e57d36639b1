"""A polite stop: what cannot end in the grace is left to be resumed, at once, and nothing is adopted any more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.a2a.harness import QUICK, SECONDS, Client, Gate, listening, message, running, words

from holdfast.a2a import A2AServer
from holdfast.a2a.protocol.wire import Message, Role, TextPart
from holdfast.a2a.turns import keys, records
from holdfast.core import NewEvent, TaskState, types
from holdfast.core.ids import session_id_for
from holdfast.store import Store

SESSION = session_id_for("agent:main:a2a:c")


@asynccontextmanager
async def started(store: Store, gate: Gate, folder: Path) -> AsyncIterator[tuple[A2AServer, Client]]:
    """A server that the test stops."""
    server = A2AServer(store, gate, version="1", workspace=folder, url="http://127.0.0.1:1", resume=True, timing=QUICK)
    await server.start(alone=False)
    async with listening(server) as client:
        yield server, client


async def test_what_runs_and_what_waits_is_left_and_another_takes_it_at_once(store: Store, tmp_path: Path) -> None:
    gate, other = Gate(), Gate()
    other.let(9)
    async with started(store, gate, tmp_path) as (server, client):
        tasks = [(await client.send(text, message_id=text, wait=False))["id"] for text in ("one", "two", "three")]
        await gate.seen(1)
        await server.stop(0)
        left = [await store.tasks.get(task_id) for task_id in tasks]
        assert [task.state for task in left] == [TaskState.WORKING, TaskState.SUBMITTED, TaskState.SUBMITTED]
        assert {orphan.task.task_id for orphan in await store.tasks.orphans()} == set(tasks)
        await store.leases.release(await store.leases.acquire(SESSION, "anybody", 60_000))
    async with running(store, other, resume=True, workspace=tmp_path) as client:
        told = [words(await client.ended(task_id)) for task_id in tasks]
    assert told == ["did one", "did two", "did three"]
    assert [turn.interrupted for turn in other.turns] == [True, False, False]
    assert [turn.text for turn in gate.turns] == ["one"], "nothing was begun after the stop"


async def test_stops_are_no_tries(store: Store, tmp_path: Path) -> None:
    """However often a turn is cut by a stop, it is begun again: the bound is for turns that kill their server."""
    task_id = ""
    for _ in range(6):
        gate = Gate()
        async with started(store, gate, tmp_path) as (server, client):
            task_id = task_id or (await client.send("one", wait=False))["id"]
            await gate.seen(1)
            await server.stop(0)
    gate = Gate()
    gate.let(1)
    async with running(store, gate, resume=True, workspace=tmp_path) as client:
        assert words(await client.ended(task_id)) == "did one"
    assert records.tries(await store.tasks.get(task_id)) == 1


async def test_who_waits_is_told_that_the_server_stops(store: Store, tmp_path: Path) -> None:
    gate = Gate()
    async with started(store, gate, tmp_path) as (server, client):
        request = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": message("one")}
        blocked = asyncio.create_task(client.http.post(client.url + "/a2a", json=request))
        await gate.seen(1)
        await server.stop(0)
        async with asyncio.timeout(SECONDS):
            assert (await blocked).status_code == 503


async def test_a_server_that_stops_adopts_nothing(store: Store, tmp_path: Path) -> None:
    gate = Gate()
    async with started(store, gate, tmp_path) as (server, client):
        await client.send("one", "own", wait=False)
        await gate.seen(1)
        stopping = asyncio.create_task(server.stop(3 * QUICK.round_seconds))
        await asyncio.sleep(0)
        entry = await store.keys.resolve(keys.session_key("main", "c"), session_id="s")
        said = records.message_record(Message(Role.USER, "m", (TextPart("hi"),), "c", "t"))
        await store.tasks.begin(entry.session_id, "t", "c", NewEvent(types.MESSAGE, said), owner="dead")
        await stopping
        assert (await store.tasks.get("t")).state is TaskState.SUBMITTED
        assert len(await store.read("s", types=(types.TASK_UPDATED,))) == 1, "nobody has touched it"
    assert [turn.text for turn in gate.turns] == ["one"]
