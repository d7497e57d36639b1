"""The live feed over a real WebSocket: nothing missed, nothing twice, whatever the client or the gateway does."""

import asyncio
import json
import os
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.gateway.process import PATIENCE, running, served
from tests.support.web import LOCAL, async_web_client
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from holdfast.store import NewEvent, Store


async def next_of(connection: ClientConnection) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        found: dict[str, Any] = json.loads(await connection.recv())
    return found


async def closing(connection: ClientConnection) -> tuple[int, str]:
    async with asyncio.timeout(PATIENCE):
        await connection.wait_closed()
    assert connection.close_code is not None
    return connection.close_code, connection.close_reason or ""


async def note(store: Store, session_id: str, *numbers: int) -> None:
    await store.append(session_id, [NewEvent("note", {"n": number}) for number in numbers])


async def test_a_session_is_followed_from_now(store: Store) -> None:
    await note(store, "s", 1, 2)
    async with served(store) as here, connect(f"{here.live}?session=s", proxy=None) as live:
        first = await next_of(live)
        assert (first["type"], first["sessionId"], first["after"]) == ("connected", "s", 2)
        await note(store, "s", 3)
        message = await next_of(live)
        assert (message["type"], message["sessionId"], message["seq"]) == ("action", "s", 3)
        assert (message["data"]["type"], message["data"]["details"]) == ("note", {"n": 3})
        assert message["timestamp"] == message["data"]["timestamp"]
        await store.state.patch("s", {"phase": "ready"})
        message = await next_of(live)
        assert (message["type"], message["seq"], message["data"]) == (
            "state_updated",
            4,
            {"patch": {"phase": "ready"}},
        )


async def test_after_gives_what_was_missed_first(store: Store) -> None:
    await note(store, "s", *range(1, 11))
    async with served(store) as here, connect(f"{here.live}?session=s&after=4", proxy=None) as live:
        await next_of(live)
        await note(store, "s", 11)
        assert [(await next_of(live))["seq"] for _ in range(7)] == list(range(5, 12))


async def test_the_whole_store_is_followed_by_cursor(store: Store) -> None:
    async with served(store) as here:
        async with connect(here.live, proxy=None) as live:
            start = await next_of(live)
            await store.sessions.create("a", user_id="ada")
            await note(store, "b", 1)
            created, noted = await next_of(live), await next_of(live)
            assert (created["type"], created["sessionId"]) == ("session_created", "a")
            assert (noted["type"], noted["sessionId"]) == ("action", "b")
        await note(store, "b", 2)
        async with connect(f"{here.live}?cursor={created['cursor']}", proxy=None) as live:
            await next_of(live)
            assert [(await next_of(live))["seq"] for _ in range(2)] == [1, 2]
        async with connect(f"{here.live}?cursor={start['cursor']}", proxy=None) as live:
            await next_of(live)
            assert (await next_of(live))["type"] == "session_created"


async def test_everything_that_becomes_of_a_session_is_told_by_its_name(store: Store) -> None:
    await note(store, "s", 1)
    async with served(store) as here, connect(f"{here.live}?session=s", proxy=None) as live:
        await next_of(live)
        async with async_web_client(base_url=f"http://127.0.0.1:{here.port}") as client:
            sent = [
                await client.post("/api/actions/s/responses", json={"text": "hi"}),
                await client.post("/api/sessions", json={"sessionId": "s", "userId": "ada"}),
                await client.post("/api/state/s/goals", json={"description": "land"}),
                await client.patch("/api/state/s/goals/goal-001", json={"status": "completed"}),
                await client.post("/api/state/s/agents", json={"type": "x", "agentId": "a"}),
                await client.post("/api/state/s/agents/a/complete", json={"result": 1}),
                await client.patch("/api/sessions/s/metadata", json={"n": 1}),
                await client.post("/api/sessions/s/finalize"),
                await client.delete("/api/sessions/s"),
            ]
        assert all(answer.status_code in {200, 201} for answer in sent)
        told = [await next_of(live) for _ in sent]
        assert [message["type"] for message in told] == [
            "response",
            "session_created",
            "goal_added",
            "goal_updated",
            "agent_spawned",
            "agent_completed",
            "metadata_updated",
            "session_finalized",
            "session_deleted",
        ]
        assert [message["seq"] for message in told] == list(range(2, 11))
        assert (told[0]["data"], told[2]["data"]["goalId"]) == ({"text": "hi"}, "goal-001")
        assert (await closing(live))[0] == 4410


async def test_a_users_sessions_are_followed_together(store: Store) -> None:
    await store.sessions.create("before", user_id="ada")
    async with served(store) as here:
        async with connect(f"{here.live}?user=ada", proxy=None) as live:
            start = await next_of(live)
            assert (start["type"], start["userId"]) == ("connected", "ada")
            health = async_web_client(base_url=f"http://127.0.0.1:{here.port}")
            async with health:
                assert (await health.get("/health")).json()["websocket"] == {
                    "totalConnections": 1,
                    "users": 1,
                    "sessions": 0,
                }
            await note(store, "nobodys", 1)
            await store.sessions.create("eves", user_id="eve")
            await note(store, "before", 1)
            await note(store, "later", 1)
            await store.sessions.create("later", user_id="ada")
            await note(store, "later", 2)
            seen: list[dict[str, Any]] = []
            while not seen or (seen[-1]["sessionId"], seen[-1]["seq"]) != ("later", 3):
                seen.append(await next_of(live))  # what was deleted before it was read is no news
            await store.deletion.delete("before")
            await note(store, "eves", 1)
            await note(store, "later", 3)
            while (seen[-1]["sessionId"], seen[-1]["seq"]) != ("later", 4):
                seen.append(await next_of(live))
        told = [(message["type"], message["sessionId"], message["seq"]) for message in seen]
        assert {name for _, name, _ in told} == {"before", "later"}
        assert [entry for entry in told if entry[1] == "before"] == [
            ("action", "before", 2),
            ("session_deleted", "before", 3),
        ]
        assert [entry for entry in told if entry[1] == "later"][-3:] == [
            ("session_created", "later", 2),
            ("action", "later", 3),
            ("action", "later", 4),
        ]
        async with connect(f"{here.live}?user=ada&cursor={seen[-2]['cursor']}", proxy=None) as live:
            await next_of(live)
            assert (await next_of(live))["seq"] == 4


async def test_an_erased_event_is_told_as_erased(store: Store) -> None:
    await note(store, "s", 1, 2)
    await store.erasure.erase("s", [1], reason="asked for")
    async with served(store) as here, connect(f"{here.live}?session=s&after=0", proxy=None) as live:
        await next_of(live)
        told = [await next_of(live) for _ in range(3)]
        assert (told[0]["data"]["details"], len(told[0]["data"]["erased"])) == (None, 64)
        assert told[2]["type"] == "events_erased"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("session=none", 4404),
        ("session=gone", 4410),
        ("user=a%00b", 4400),
        ("user=ada&after=1", 4400),
        ("session=bad%20id", 4400),
        ("session=s&after=x", 4400),
        ("session=s&after=2", 4409),
        ("session=s&cursor=c", 4400),
        ("after=1", 4400),
        ("cursor=other.0.1", 4409),
    ],
)
async def test_what_cannot_be_followed_is_closed_with_the_reason(store: Store, query: str, code: int) -> None:
    await note(store, "s", 1)
    await note(store, "gone", 1)
    await store.deletion.delete("gone")
    async with served(store) as here, connect(f"{here.live}?{query}", proxy=None) as live:
        closed, reason = await closing(live)
        assert closed == code
        assert reason


async def test_a_cursor_from_the_future_is_refused_and_not_waited_on(store: Store) -> None:
    await note(store, "s", 1)
    ahead = f"{store.store_id}.0.{2**63 - 1}"
    async with served(store) as here:
        async with connect(f"{here.live}?cursor={ahead}", proxy=None) as live:
            assert (await closing(live))[0] == 4409
        async with connect(f"{here.live}?cursor={await store.feed.now()}", proxy=None) as live:
            assert (await next_of(live))["type"] == "connected"


async def test_foreign_pages_cannot_follow(store: Store) -> None:
    async with served(store) as here:
        with pytest.raises(InvalidStatus) as refused:
            await connect(here.live, origin="https://evil.example", proxy=None)  # type: ignore[arg-type]
        assert refused.value.response.status_code == 403
        assert json.loads(refused.value.response.body or b"")["code"] == "foreign_origin"


async def test_followers_are_counted_while_they_follow(store: Store) -> None:
    await note(store, "s", 1)
    async with served(store) as here:
        url = f"http://127.0.0.1:{here.port}/health"
        async with async_web_client() as client:
            async with connect(f"{here.live}?session=s", proxy=None) as one, connect(here.live, proxy=None) as two:
                await next_of(one)
                await next_of(two)
                counted = (await client.get(url)).json()["websocket"]
                assert counted == {"totalConnections": 2, "users": 0, "sessions": 1}
            async with asyncio.timeout(PATIENCE):
                while here.gateway.connections().total_connections:
                    await asyncio.sleep(0.01)


async def test_a_slow_client_gets_everything(store: Store) -> None:
    """It takes nothing until far more has happened than all buffers hold."""
    await note(store, "s", 0)
    text = "x" * 20_000
    async with served(store) as here, connect(f"{here.live}?session=s", proxy=None, max_queue=1) as live:
        await next_of(live)
        for start in range(0, 800, 100):
            await store.append("s", [NewEvent("note", {"text": text}) for _ in range(start, start + 100)])
        assert [(await next_of(live))["seq"] for _ in range(800)] == list(range(2, 802))


async def test_a_client_that_never_reads_is_dropped(store: Store) -> None:
    await note(store, "s", 0)
    text = "x" * 100_000
    async with served(store, deaf_ms=1_000) as here:
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", here.port))
            deaf.sendall(
                b"GET /ws?session=s HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
            )
            async with asyncio.timeout(PATIENCE):
                while not here.gateway.connections().total_connections:
                    await asyncio.sleep(0.01)
                for _ in range(10):
                    await store.append("s", [NewEvent("note", {"text": text}) for _ in range(10)])
                while here.gateway.connections().total_connections:
                    await asyncio.sleep(0.01)


async def test_the_stop_closes_feeds_so_that_they_come_back(store: Store) -> None:
    await note(store, "s", 1)
    async with served(store) as here, connect(f"{here.live}?session=s", proxy=None) as live:
        await next_of(live)
        here.server.stop()
        code, reason = await closing(live)
    assert (code, "reconnect" in reason) == (1012, True)


async def test_no_gap_and_no_duplicate_over_kills_and_reconnects(tmp_path: Path) -> None:
    """A writer and a follower, and a gateway that is killed under both, twice."""
    total = 300
    seen: list[int] = []
    acknowledged: set[int] = set()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]

    async def write(url: str) -> None:
        async with async_web_client(base_url=url) as client:
            for number in range(1, total + 1):
                if number not in acknowledged:
                    body = {"type": "n", "details": {"n": number}, "idempotencyKey": f"k{number}"}
                    answer = await client.post("/api/actions/s", json=body)
                    assert answer.status_code in {200, 201}
                    acknowledged.add(number)

    async def follow(url: str, until: int) -> None:
        async with connect(f"{url}?session=s&after={seen[-1] if seen else 0}", proxy=None) as live:
            await next_of(live)
            while not seen or seen[-1] < until:
                seen.append((await next_of(live))["seq"])

    for until in (100, 200, total):
        with running(tmp_path / "data", port=port) as gateway:
            if not seen:
                httpx2.post(f"{gateway.url}/api/actions/s", json={"type": "n", "idempotencyKey": "k0"}, **LOCAL)
            writing = asyncio.create_task(write(gateway.url))
            await follow(gateway.live, until)
            if until < total:
                os.kill(gateway.process.pid, 9)
                with pytest.raises((httpx2.TransportError, ConnectionClosed)):
                    await writing
            else:
                await writing
                await follow(gateway.live, total + 1)
    assert seen == list(range(1, total + 2))
    assert acknowledged == set(range(1, total + 1))
