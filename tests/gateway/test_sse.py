"""Server-sent events from a real gateway: nothing missed, nothing twice, and an end that says why."""

import asyncio
import json
import random
import socket
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
from tests.gateway.calling import Caller, checked
from tests.gateway.event_stream import EventStream, Told, following
from tests.gateway.process import PATIENCE, Served, running, served
from tests.support.web import async_web_client
from websockets.asyncio.client import connect

from holdfast.gateway.access.authority import TokenHolders
from holdfast.gateway.access.watch import TokenWatch
from holdfast.gateway.gateway import Gateway
from holdfast.http.event_stream import HEARTBEAT_SECONDS
from holdfast.store import NewEvent, Store

EVENT_STREAM = "text/event-stream; charset=utf-8"
numbers = count(1)


def feed(here: Served, query: str = "") -> str:
    return f"http://127.0.0.1:{here.port}/api/feed?{query}"


async def note(store: Store, session_id: str, *numbers: int) -> None:
    await store.append(session_id, [NewEvent("note", {"n": number}) for number in numbers])


async def begun(stream: EventStream) -> Told:
    """The first event."""
    first = await stream.next()
    assert first is not None
    assert (stream.answer.status_code, first.event) == (200, "connected")
    return first


async def test_a_session_is_followed_from_now(store: Store) -> None:
    await note(store, "s", 1, 2)
    async with served(store) as here, following(feed(here, "session=s")) as stream:
        first = await begun(stream)
        assert (first.id, first.data["sessionId"], first.data["after"]) == ("2", "s", 2)
        headers = stream.answer.headers
        assert (headers["content-type"], headers["cache-control"]) == (EVENT_STREAM, "no-store")
        assert headers["x-accel-buffering"] == "no"
        assert stream.retry is not None
        assert here.gateway.connections().total_connections == 1
        await note(store, "s", 3)
        await store.state.patch("s", {"phase": "ready"})
        noted, patched = await stream.all(2)
        assert (noted.event, noted.id, noted.data["seq"], noted.data["data"]["details"]) == ("action", "3", 3, {"n": 3})
        assert (patched.event, patched.id, patched.data["data"]) == (
            "state_updated",
            "4",
            {"patch": {"phase": "ready"}},
        )


async def test_the_data_is_what_a_websocket_says(store: Store) -> None:
    await store.sessions.create("s", user_id="ada")
    await note(store, "s", 1, 2)
    start = f"{store.store_id}.0.0"
    async with served(store) as here:
        for query in ("session=s&after=0", f"user=ada&cursor={start}", f"cursor={start}"):
            async with (
                connect(f"{here.live}?{query}", proxy=None) as live,
                following(feed(here, query)) as stream,
            ):
                for told in await stream.all(4):
                    assert json.loads(await live.recv()) == told.data
                    assert told.event == told.data["type"]
                    last = told.data.get("cursor", told.data.get("seq", told.data.get("after")))
                    assert told.id == str(last)


async def test_line_ends_within_a_message_break_nothing(store: Store) -> None:
    async with served(store) as here:
        async with async_web_client(base_url=f"http://127.0.0.1:{here.port}") as client:
            for blank in ("\n", "\r", "\r\n", "\n\n", "\r\n\r\n"):
                body = f'{{"type":"a\\n\\nid: 9","details":{{{blank}"text":{blank}"one\\r\\ntwo\u2028three"}}}}'
                answer = await client.post("/api/actions/s", content=body.encode())
                assert answer.status_code == 201
        async with following(feed(here, "session=s&after=0")) as stream:
            _, *told = await stream.all(6)
        assert [each.id for each in told] == ["1", "2", "3", "4", "5"]
        assert {each.event for each in told} == {"action"}
        assert all(each.data["data"]["details"] == {"text": "one\r\ntwo\u2028three"} for each in told)
        assert all(each.data["data"]["type"] == "a\n\nid: 9" for each in told)


async def test_the_last_event_id_wins_over_the_query(store: Store) -> None:
    await note(store, "s", *range(1, 6))
    async with served(store) as here:
        async with following(feed(here, "session=s&after=1"), "4") as stream:
            first, *told = await stream.all(2)
            assert (first.data["after"], [each.id for each in told]) == (4, ["5"])
        async with following(feed(here, f"cursor={store.store_id}.0.0")) as stream:
            told = await stream.all(6)
        async with following(feed(here, f"cursor={told[1].id}"), told[4].id) as stream:
            first, last = await stream.all(2)
            assert (first.data["cursor"], last.data["seq"]) == (told[4].id, 5)
        async with following(feed(here, "session=s&after=3"), "") as stream:
            assert (await begun(stream)).data["after"] == 3


async def write_notes(url: str, sessions: list[str], total: int) -> None:
    """So many actions for each of the sessions, all at the same time."""

    async def write(client: httpx2.AsyncClient, session_id: str) -> None:
        for number in range(total):
            answer = await client.post(f"/api/actions/{session_id}", json={"type": "n", "details": {"n": number}})
            assert answer.status_code == 201

    async with (
        async_web_client(base_url=url) as client,
        asyncio.TaskGroup() as writing,
    ):
        for session_id in sessions:
            writing.create_task(write(client, session_id))


async def follow_in_pieces(
    url: str, last: str | None, wanted: set[tuple[str, int]], chance: random.Random
) -> list[tuple[str, int]]:
    """Every event until all that is wanted was there, over connections that are broken after a few events of each
    session."""
    seen: list[tuple[str, int]] = []
    most = 5 * len({session_id for session_id, _ in wanted})
    missing = set(wanted)
    broken = 0
    while missing:
        async with following(url, last) as stream:
            last = (await begun(stream)).id
            for _ in range(min(chance.randint(0, most), len(missing))):
                (told,) = await stream.all(1)
                seen.append((told.data["sessionId"], told.data["seq"]))
                missing.discard(seen[-1])
                last = told.id
        broken += 1
    assert broken > 20
    return seen


async def test_no_gap_and_no_duplicate_however_often_the_connection_breaks(caller: Caller) -> None:
    """One session, a user's and the whole store, each followed over dozens of connections while all is written."""
    run, total = next(numbers), 80
    mine, others = [f"sse{run}-{name}" for name in "ab"], [f"sse{run}-{name}" for name in "xy"]
    user = f"sse{run}-ada"
    for session_id in mine:
        caller.post("/api/sessions", {"sessionId": session_id, "userId": user})
    for session_id in others:
        caller.post("/api/sessions", {"sessionId": session_id, "userId": "somebody"})
    written = {name: {(name, seq) for seq in range(2, total + 2)} for name in [*mine, *others]}
    wants: dict[str, set[tuple[str, int]]] = {
        f"session={mine[0]}": written[mine[0]],
        f"user={user}": written[mine[0]] | written[mine[1]],
        "": set().union(*written.values()),
    }
    followers: dict[str, asyncio.Task[list[tuple[str, int]]]] = {}
    async with asyncio.TaskGroup() as group:
        for query, wanted in wants.items():
            url = f"{caller.url}/api/feed?{query}"
            async with following(url) as stream:
                start = (await begun(stream)).id
            followers[query] = group.create_task(follow_in_pieces(url, start, wanted, random.Random(run)))
        group.create_task(write_notes(caller.url, [*mine, *others], total))
    for query, wanted in wants.items():
        seen = followers[query].result()
        assert len(seen) == len(set(seen)), "twice"
        assert set(seen) - {each for each in seen if not each[0].startswith(f"sse{run}-")} == wanted
        for session_id in {name for name, _ in wanted}:
            seqs = [seq for name, seq in seen if name == session_id]
            assert seqs == sorted(seqs), "out of order"


async def test_a_quiet_feed_has_a_heartbeat(store: Store) -> None:
    await note(store, "s", 1)
    async with (
        served(store, heartbeat_seconds=0.05) as here,
        following(feed(here, "session=s")) as stream,
    ):
        await begun(stream)
        for number in range(2, 5):
            await stream.beat()
            await stream.beat()
            await note(store, "s", number)
            told = await stream.next()
            assert told is not None
            assert told.id == str(number)


async def test_a_websocket_is_pinged(store: Store) -> None:
    """So that there is always something that a dead client does not take; browsers answer, and do not show it."""
    async with served(store) as here:
        assert here.server.config.ws_ping_interval == HEARTBEAT_SECONDS
        here.server.config.ws_ping_interval = 0.05
        async with connect(here.live, proxy=None) as live:
            await live.recv()
            pinged = asyncio.Event()
            heard = live.protocol.recv_frame

            def hear(frame: Any) -> None:
                if frame.opcode == 9:
                    pinged.set()
                heard(frame)

            live.protocol.recv_frame = hear  # type: ignore[method-assign]
            async with asyncio.timeout(PATIENCE):
                await pinged.wait()


async def test_the_stop_is_the_last_event(store: Store) -> None:
    await note(store, "s", 1)
    async with served(store) as here, following(feed(here, "session=s")) as stream:
        await begun(stream)
        here.server.stop()
        told = await stream.next()
        assert told is not None
        assert (told.event, told.id) == ("stopping", None)
        assert await stream.next() is None


async def test_a_stopped_process_ends_its_feeds_and_goes_quietly(tmp_path: Path) -> None:
    with running(tmp_path / "data") as gateway:
        async with following(f"{gateway.url}/api/feed") as stream:
            await begun(stream)
            stopped = asyncio.create_task(asyncio.to_thread(gateway.stop))
            told = await stream.next()
            assert told is not None
            assert (told.event, await stream.next()) == ("stopping", None)
            assert await stopped == (0, "")


async def test_a_revoked_token_ends_what_it_opened(store: Store) -> None:
    await note(store, "s", 1)
    token, text = await store.tokens.create("reader", ["read"])
    gateway = Gateway(store, authority=TokenHolders(store, {}))
    gateway.watch = TokenWatch(gateway.authority, look_seconds=0.02)
    bearer = f"Bearer {text}"
    async with served(store, gateway=gateway) as here:
        async with following(feed(here, "session=s"), Authorization=bearer) as stream:
            await begun(stream)
            await note(store, "s", 2)
            assert (await stream.all(1))[0].id == "2"
            await store.tokens.revoke(token.token_id)
            told = await stream.next()
            assert told is not None
            assert (told.event, told.data["code"], told.data["status"]) == ("error", "unauthorized", 401)
            assert await stream.next() is None
        async with following(feed(here, "session=s"), "2", Authorization=bearer) as stream:
            assert checked(stream.answer)["code"] == "unauthorized"


async def test_a_revoked_token_ends_also_what_nobody_reads(store: Store) -> None:
    await note(store, "s", 0)
    token, text = await store.tokens.create("reader", ["read"])
    gateway = Gateway(store, authority=TokenHolders(store, {}))
    gateway.watch = TokenWatch(gateway.authority, look_seconds=0.02)
    async with served(store, gateway=gateway) as here:
        with closing(socket.socket()) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", here.port))
            head = f"GET /api/feed?session=s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {text}\r\n\r\n"
            deaf.sendall(head.encode())
            await asyncio.to_thread(deaf.recv, 1)
            for _ in range(10):
                await store.append("s", [NewEvent("note", {"text": "x" * 100_000}) for _ in range(10)])
            await store.tokens.revoke(token.token_id)
            async with asyncio.timeout(PATIENCE):
                while gateway.connections().total_connections:
                    await asyncio.sleep(0.01)


async def test_a_deleted_session_ends_its_feed(store: Store) -> None:
    await note(store, "s", 1)
    async with served(store) as here:
        async with following(feed(here, "session=s")) as stream:
            await begun(stream)
            await store.deletion.delete("s")
            told = (await stream.all(1))[0]
            if told.event != "error":  # one that looked a moment too late is told of the end alone
                assert (told.event, told.id) == ("session_deleted", "2")
                told = (await stream.all(1))[0]
            assert (told.event, told.data["code"], told.data["status"]) == ("error", "session_gone", 410)
            assert await stream.next() is None
        async with following(feed(here, "session=s"), "2") as stream:
            assert checked(stream.answer)["code"] == "session_gone"


async def test_a_slow_reader_gets_everything_and_fills_no_memory(store: Store) -> None:
    """It takes nothing until far more has happened than all buffers hold."""
    await note(store, "s", 0)
    text, total = "x" * 20_000, 800
    async with served(store, heartbeat_seconds=0.01) as here:
        with closing(socket.socket()) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(("127.0.0.1", here.port))
            slow.sendall(b"GET /api/feed?session=s HTTP/1.1\r\nHost: localhost\r\n\r\n")
            async with asyncio.timeout(PATIENCE):
                while not here.gateway.connections().total_connections:
                    await asyncio.sleep(0.01)
            for _ in range(0, total, 100):
                await store.append("s", [NewEvent("note", {"text": text}) for _ in range(100)])
            (connection,) = here.server.server_state.connections
            for _ in range(20):
                await asyncio.sleep(0.01)
                assert connection.transport.get_write_buffer_size() < 200_000
                assert len(asyncio.all_tasks()) < 30
            slow.setblocking(False)
            reader, writer = await asyncio.open_connection(sock=slow)
            seen: list[int] = []
            async with asyncio.timeout(PATIENCE):
                while len(seen) < total:
                    line = await reader.readline()
                    if line.startswith(b"id: "):
                        seen.append(int(line[4:]))
            writer.close()
        assert seen == list(range(1, total + 1))


async def test_a_client_that_leaves_or_takes_nothing_is_counted_no_more(store: Store) -> None:
    await note(store, "s", 0)
    text = "x" * 100_000
    async with served(store, deaf_ms=1_000) as here:
        async with following(feed(here, "session=s")) as stream:
            await begun(stream)
        with closing(socket.socket()) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", here.port))
            deaf.sendall(b"GET /api/feed?session=s HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await asyncio.to_thread(deaf.recv, 1)
            for _ in range(10):
                await store.append("s", [NewEvent("note", {"text": text}) for _ in range(10)])
            async with asyncio.timeout(PATIENCE):
                while here.gateway.connections().total_connections:
                    await asyncio.sleep(0.01)


REFUSED: list[tuple[str, str | None, int, str]] = [
    ("session=none", None, 404, "not_found"),
    ("session=gone", None, 410, "session_gone"),
    ("user=a%00b", None, 400, "invalid_input"),
    ("user=ada&after=1", None, 400, "invalid_input"),
    ("session=bad%20id", None, 400, "invalid_input"),
    ("session=s&after=x", None, 400, "invalid_input"),
    ("session=s&after=-1", None, 400, "invalid_input"),
    ("session=s&after=2", None, 409, "history_changed"),
    ("session=s&cursor=c", None, 400, "invalid_input"),
    ("after=1", None, 400, "invalid_input"),
    ("cursor=other.0.1", None, 409, "history_changed"),
    ("session=s", "x", 400, "invalid_input"),
    ("session=s", "-1", 400, "invalid_input"),
    ("session=s", "1.0", 400, "invalid_input"),
    ("session=s", "٣", 400, "invalid_input"),
    ("session=s", "9" * 30, 400, "invalid_input"),
    ("session=s", "2", 409, "history_changed"),
    ("", "1", 400, "invalid_input"),
    ("user=ada", "other.0.1", 409, "history_changed"),
]


async def test_what_cannot_be_followed_is_a_problem(store: Store, client: httpx2.AsyncClient) -> None:
    await note(store, "s", 1)
    await note(store, "gone", 1)
    await store.deletion.delete("gone")
    for query, last, status, code in REFUSED:
        headers = {} if last is None else {b"Last-Event-ID": last.encode()}
        refused = await client.get(f"/api/feed?{query}", headers=headers)
        assert (refused.status_code, checked(refused)["code"]) == (status, code), (query, last)


async def test_a_cursor_from_the_future_is_refused_and_not_waited_on(client: httpx2.AsyncClient, store: Store) -> None:
    refused = await client.get("/api/feed", headers={"Last-Event-ID": f"{store.store_id}.0.{2**63 - 1}"})
    assert (refused.status_code, checked(refused)["code"]) == (409, "history_changed")


async def test_head_says_what_would_come_and_ends(client: httpx2.AsyncClient, store: Store) -> None:
    await note(store, "s", 1)
    async with asyncio.timeout(PATIENCE):
        answer = await client.head("/api/feed?session=s")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == EVENT_STREAM
    assert (await client.head("/api/feed?session=none")).status_code == 404
