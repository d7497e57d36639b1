"""Output that nobody takes: one copy for all who are sent the same, one budget for all, and no loss for who is cut."""

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import websockets
from tests.gateway.event_stream import following
from tests.gateway.figures import figure, parsed
from tests.gateway.process import PATIENCE, Running, Served, running, served
from tests.gateway.raw import get, raw, refused
from tests.gateway.tight import tight
from tests.support.attacked import attack_for
from tests.support.deaf import begin, deaf, deaf_followers, rest
from tests.support.eventually import eventually, wait_until
from tests.support.memory import memory
from tests.support.web import web_client

from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.connections.unsent_output import PIECE
from holdfast.store import NewEvent, Store

MB = 1024 * 1024
LARGE = 7 * MB
"""More than the kernel takes for a client that reads nothing."""
FEEDS = ["/ws?session={}&after={}", "/api/feed?session={}&after={}"]
CUT = 4408
LAST_CHUNK = b"0\r\n\r\n"


async def append(store: Store, session: str, size: int = LARGE, text: str = "x") -> str:
    """An event of this size; its text."""
    whole = (text * (size // len(text.encode()) + 1))[:size]
    await store.append(session, [NewEvent("large", {"text": whole})])
    return whole


def url(here: Served) -> str:
    return f"http://127.0.0.1:{here.port}"


@pytest.mark.parametrize("path", FEEDS)
def test_followers_that_take_nothing_share_one_copy(path: str, tmp_path: Path) -> None:
    with (
        running(tmp_path, "--auth", "none") as gateway,
        web_client(base_url=gateway.url) as client,
    ):
        client.post("/api/actions/s", json={"type": "first"})
        with deaf_followers(gateway.url, path.format("s", 1), 30) as followers:
            before = memory(gateway.process.pid)
            for _ in range(2):
                body = json.dumps({"type": "large", "details": {"text": "x" * LARGE}})
                assert client.post("/api/actions/s", content=body).status_code == 201
            for follower in followers:
                assert follower.recv(1)
            wait_until(lambda: memory(gateway.process.pid) - before < 8 * LARGE)
            assert LARGE <= figure(parsed(client.get("/metrics")), "holdfast_unsent_bytes") < LARGE + 30 * 4 * PIECE


@pytest.mark.parametrize("path", FEEDS)
async def test_who_takes_least_is_cut_and_goes_on_after_its_cursor(path: str, store: Store) -> None:
    await append(store, "slow", 10)
    await append(store, "later", 10)
    limits = ConnectionLimits(max_unsent=LARGE + MB, behind_seconds=0.2)
    async with served(store, limits=limits) as here:
        unsent = here.gateway.unsent
        with closing(await asyncio.to_thread(deaf, url(here), path.format("slow", 1))) as slow:
            await asyncio.to_thread(begin, slow)
            await append(store, "slow")
            await eventually(lambda: unsent.size >= LARGE)
            await asyncio.sleep(0.3)  # so that it is behind
            with closing(await asyncio.to_thread(deaf, url(here), path.format("later", 1))) as later:
                await asyncio.to_thread(begin, later)
                await append(store, "later")
                await eventually(lambda: unsent.cuts.total() == 1)
                assert unsent.size <= LARGE + MB
                got = await asyncio.to_thread(rest, slow)
                assert len(got) < LARGE
                if path.startswith("/ws"):
                    assert struct.pack("!H", CUT) + b"the client took too little" in got
                else:
                    assert not got.endswith(LAST_CHUNK)
            again = [found async for found in seqs(here, path.format("slow", 1), 1)]
            assert again == [2]


async def seqs(here: Served, path: str, number: int) -> AsyncIterator[int]:
    """The seqs that a follower gets who reads."""
    if path.startswith("/ws"):
        async with websockets.connect(f"ws://127.0.0.1:{here.port}{path}", max_size=None, proxy=None) as live:
            assert json.loads(await live.recv())["type"] == "connected"
            for _ in range(number):
                yield json.loads(await live.recv())["seq"]
    else:
        async with following(url(here) + path) as stream:
            for told in (await stream.all(1 + number))[1:]:
                yield told.data["seq"]


@pytest.mark.parametrize(
    ("path", "size"), [(FEEDS[0], 3 * MB), (FEEDS[1], 3 * MB), (FEEDS[0], PIECE), (FEEDS[1], PIECE)]
)
async def test_a_large_event_arrives_as_it_was_written(path: str, size: int, store: Store) -> None:
    text = await append(store, "s", size, "Größe € 𝄞 ")
    async with served(store, heartbeat_seconds=0.001) as here:
        if path.startswith("/ws"):
            async with websockets.connect(f"{here.live}?session=s&after=0", max_size=None, proxy=None) as live:
                await live.recv()
                assert json.loads(await live.recv())["data"]["details"]["text"] == text
        else:
            async with following(url(here) + path.format("s", 0)) as stream:
                told = await stream.all(2)
                assert told[1].data["data"]["details"]["text"] == text
        await eventually(lambda: here.gateway.unsent.size == 0)


async def test_a_heartbeat_never_comes_between_the_pieces_of_an_event(store: Store) -> None:
    """The reader is slow, so that many are due while the event is under way."""
    text = await append(store, "s")
    async with served(store, heartbeat_seconds=0.001) as here:
        with closing(await asyncio.to_thread(deaf, url(here), "/api/feed?session=s&after=0")) as slow:
            slow.setblocking(False)
            reader, writer = await asyncio.open_connection(sock=slow)
            got = b""
            async with asyncio.timeout(PATIENCE):
                while len(got) < LARGE + 1000:
                    got += await reader.read(MB)
                    await asyncio.sleep(0.005)
            writer.close()
    chunks, data = got.partition(b"\r\n\r\n")[2], b""
    while chunks:
        size, _, chunks = chunks.partition(b"\r\n")
        data += chunks[: int(size, 16)]
        chunks = chunks[int(size, 16) + 2 :]
    (line,) = (line for line in data.split(b"\n") if b'"large"' in line)
    assert json.loads(line.removeprefix(b"data: "))["data"]["details"]["text"] == text


async def test_a_feed_that_stops_in_the_midst_of_an_event_breaks(store: Store) -> None:
    """No last word is put into the event: what is there of it must not be taken for the whole."""
    await append(store, "s")
    async with served(store) as here:
        with closing(await asyncio.to_thread(deaf, url(here), "/api/feed?session=s&after=0")) as slow:
            await eventually(lambda: here.gateway.unsent.size >= LARGE)
            here.gateway.stopping.set()
            got = await asyncio.to_thread(rest, slow)
            assert b"stopping" not in got
            assert not got.endswith(LAST_CHUNK)


async def test_an_answer_that_there_is_no_room_for_is_refused_and_the_next_is_not(store: Store) -> None:
    await append(store, "s")
    async with served(store, limits=ConnectionLimits(max_unsent=LARGE + MB, behind_seconds=PATIENCE)) as here:
        with closing(await asyncio.to_thread(deaf, url(here), "/api/actions/s")):
            await eventually(lambda: here.gateway.unsent.size >= LARGE)
            for path in ("/api/actions/s", "/api/sessions/s"):
                answer = await asyncio.to_thread(asked, url(here), path)
                assert refused(answer) == (503, "busy")
                assert answer.headers[b"retry-after"] == b"1"
            assert (await asyncio.to_thread(asked, url(here), "/api/sessions")).status == 200
            assert await feed_refused(here) == "busy"
        await eventually(lambda: here.gateway.unsent.size == 0)
        assert len((await asyncio.to_thread(asked, url(here), "/api/actions/s")).body) > LARGE


def asked(where: str, path: str) -> Any:
    """The answer to who reads it."""
    with raw(where, get(path)) as client:
        return client.answer()


async def feed_refused(here: Served) -> str:
    """Why a follower is turned away, over each of the two."""
    async with websockets.connect(f"{here.live}?session=s&after=0", max_size=None, proxy=None) as live:
        await live.recv()
        with pytest.raises(websockets.ConnectionClosed):
            await live.recv()
        assert (live.close_code, bool(live.close_reason)) == (4503, True)
    async with following(url(here) + "/api/feed?session=s&after=0") as stream:
        told = await stream.all(2)
        assert told[1].event == "error"
        assert await stream.next() is None
        return str(told[1].data["code"])


@pytest.mark.parametrize("parser", ["httptools", "h11"])
def test_answers_that_nobody_reads_keep_to_the_budget(parser: str, tmp_path: Path) -> None:
    with tight(tmp_path, parser, max_unsent=2 * LARGE + MB, behind_seconds=0.1) as gateway, filled(gateway) as client:
        before = memory(gateway.process.pid)
        asks = [("GET", "/api/actions/s"), ("GET", "/api/sessions/s/log"), ("GET", "/api/export")]
        clients = [deaf(gateway.url, path, method=method) for method, path in asks * 6]
        try:
            wait_until(lambda: figure(parsed(client.get("/metrics")), "holdfast_unsent_bytes") >= LARGE)
            for each in clients:
                assert each.recv(1)
            figures = parsed(client.get("/metrics"))
            assert figure(figures, "holdfast_unsent_bytes") <= 2 * LARGE + MB
            assert client.get("/api/actions/s?limit=1&before=2").status_code == 200
            wait_until(lambda: memory(gateway.process.pid) - before < 8 * LARGE)
        finally:
            for each in clients:
                each.close()
        wait_until(lambda: figure(parsed(client.get("/metrics")), "holdfast_unsent_bytes") == 0)
        assert len(client.get("/api/actions/s").content) > LARGE


@contextmanager
def filled(gateway: Running) -> Iterator[httpx2.Client]:
    """A client of a gateway that has a small event and a large one."""
    with web_client(base_url=gateway.url) as client:
        client.post("/api/actions/s", json={"type": "first"})
        body = json.dumps({"type": "large", "details": {"text": "x" * LARGE}})
        assert client.post("/api/actions/s", content=body).status_code == 201
        yield client


@pytest.mark.long
@pytest.mark.parametrize("attack", ["followers-ws", "followers-sse"])
def test_a_hundred_followers_that_take_nothing_take_no_memory(attack: str, tmp_path: Path) -> None:
    """Two events of 15 MB for them, again and again: memory has a bound, and another tenant is answered."""
    outcome = attack_for(tmp_path, 10, seed=1, attacks=[attack], patience=2 * PATIENCE)
    assert not outcome.wrong, f"{outcome}: {outcome.wrong}"
