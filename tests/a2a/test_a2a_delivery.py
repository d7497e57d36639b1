"""A message is recorded before it runs, and runs once, however often it is delivered."""

import asyncio
import json
from pathlib import Path

import httpx2
from starlette.applications import Starlette
from tests.a2a.harness import SECONDS, Client, Gate, message, running, tell, words
from tests.support.eventually import eventually

from holdfast.a2a import A2AServer
from holdfast.core import types
from holdfast.store import Store

SESSION = "agent:main:a2a:c"


async def test_a_message_delivered_again_finds_its_first_task(store: Store) -> None:
    gate = Gate()
    gate.let(9)
    async with running(store, gate) as client:
        first = await client.send("hello")
        assert await client.send("hello") == first
    assert len(gate.turns) == 1


async def test_deliveries_at_the_same_time_run_once_and_all_wait_for_the_end(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as client:
        async with asyncio.TaskGroup() as group:
            sends = [group.create_task(client.send("hello")) for _ in range(8)]
            await gate.seen(1)
            gate.let(9)
        assert {send.result()["id"] for send in sends} == {sends[0].result()["id"]}
        assert {send.result()["status"]["state"] for send in sends} == {"completed"}
    assert len(gate.turns) == 1


async def test_a_reused_id_with_another_body_is_another_message(store: Store) -> None:
    async with running(store, tell) as client:
        first = await client.send("hello", message_id="1")
        second = await client.send("goodbye", message_id="1")
    assert first["id"] != second["id"]
    assert words(second) == "user:hello | agent:hello | goodbye"


async def test_the_same_message_in_another_context_is_another_message(store: Store) -> None:
    async with running(store, tell) as client:
        assert (await client.send("hello", "a"))["id"] != (await client.send("hello", "b"))["id"]


async def test_delivery_to_another_server_finds_the_first_task_too(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as one, running(store, gate) as other, asyncio.TaskGroup() as group:
        first = group.create_task(one.send("hello"))
        await gate.seen(1)
        second = group.create_task(other.send("hello"))
        gate.let(9)
    assert first.result()["status"]["state"] == "completed"
    assert second.result() == first.result()
    assert len(gate.turns) == 1


async def test_message_and_task_are_durable_before_anything_runs(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as client:
        task = await client.send("hello", wait=False)
        assert task["status"]["state"] in {"submitted", "working"}
        assert task["contextId"] == "c"
        await gate.seen(1)
        recorded, *_ = await store.read(SESSION, types=[types.MESSAGE])
        assert recorded.value() == {
            "role": "user",
            "messageId": "m",
            "contextId": "c",
            "taskId": task["id"],
            "parts": [{"text": "hello"}],
        }
        assert (await client.get(task["id"]))["status"]["state"] == "working"
        gate.let(1)
        assert words(await client.ended(task["id"])) == "did hello"


async def test_returning_immediately_in_version_1_0(store: Store) -> None:
    gate = Gate()
    sent = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    params = {"message": sent, "configuration": {"returnImmediately": True}}
    async with running(store, gate) as client:
        task = (await client.call("SendMessage", params, "1.0"))["result"]["task"]
        assert task["status"]["state"] in {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
        gate.let(1)
        assert words(await client.ended(task["id"])) == "did hello"


async def test_the_answer_is_in_the_log_with_the_end_of_its_task(store: Store) -> None:
    async with running(store, tell) as client:
        task = await client.send("hello")
    answer, end = await store.newest(SESSION, limit=2)
    assert answer.type == types.MESSAGE
    assert answer.value()["role"] == "agent"
    assert answer.value()["parts"] == [{"text": "hello"}]
    assert (end.value()["taskId"], end.value()["state"]) == (task["id"], "completed")
    assert (await store.verification.session(SESSION)).problem is None


async def test_a_client_that_leaves_does_not_end_the_turn(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as client:
        request = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": message("hello")}
        body = json.dumps(request).encode()
        host, port = client.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        kind = "Content-Type: application/json"
        head = f"POST /a2a HTTP/1.1\r\nHost: {host}\r\n{kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await gate.seen(1)
        writer.close()
        await writer.wait_closed()
        gate.let(9)
        assert words(await client.ended(gate.turns[0].task_id)) == "did hello"
        assert gate.interrupted == []


async def test_a_request_cancelled_at_any_moment_leaves_no_task_without_its_turn(store: Store) -> None:
    server = A2AServer(store, tell, version="1", workspace=Path(), url="http://127.0.0.1:1")
    await server.start(alone=True)
    transport = httpx2.ASGITransport(app=Starlette(routes=server.routes))
    async with httpx2.AsyncClient(transport=transport, base_url="http://a2a") as http:
        client = Client("http://a2a", http)
        for moment in range(60):
            sending = asyncio.create_task(client.send("hello", f"c{moment}"))
            for _ in range(moment * 5):
                await asyncio.sleep(0)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def all_completed() -> bool:
        sessions = (await store.sessions.list(limit=60)).sessions
        ends = [(await store.newest(session.session_id, limit=1)) for session in sessions if session.head_seq]
        return {end.value()["state"] for [end] in ends} == {"completed"}

    await eventually(all_completed)
    await server.stop(SECONDS)


async def test_a_failing_agent_fails_its_task_and_the_next_turn_works(store: Store) -> None:
    async def fails_once(turn):  # type: ignore[no-untyped-def]
        if not turn.history:
            yield "half of an ans"
            raise ValueError("secret detail")
        yield f"now {turn.history[0].text}"

    async with running(store, fails_once) as client:
        failed = await client.send("one", message_id="m1")
        assert failed["status"]["state"] == "failed"
        assert failed["status"]["message"]["parts"] == [{"kind": "text", "text": "the agent failed: ValueError"}]
        assert words(failed) == "half of an ans"
        assert words(await client.send("two", message_id="m2")) == "now one"


async def test_an_answer_that_cannot_be_stored_fails_its_task(store: Store) -> None:
    async def torn(turn):  # type: ignore[no-untyped-def]
        yield "\ud800"

    async with running(store, torn) as client:
        assert (await client.send("one"))["status"]["state"] == "failed"


async def test_an_agent_may_say_nothing(store: Store) -> None:
    async def silent(turn):  # type: ignore[no-untyped-def]
        for said in turn.history:
            yield said.text

    async with running(store, silent) as client:
        task = await client.send("one")
    assert task["status"]["state"] == "completed"
    assert "artifacts" not in task


async def test_cancel_ends_the_task_and_stops_the_work(store: Store) -> None:
    gate = Gate()
    async with running(store, gate) as client:
        task = await client.send("one", wait=False)
        await gate.seen(1)
        canceled = await client.call("tasks/cancel", {"id": task["id"]})
        assert canceled["result"]["status"]["state"] == "canceled"

        async def stopped() -> bool:
            return gate.interrupted == ["one"]

        await eventually(stopped)
        again = await client.call("CancelTask", {"id": task["id"]}, "1.0")
        assert again["error"]["code"] == -32002
        gate.let(1)
        assert words(await client.send("two", message_id="m2")) == "did two"
