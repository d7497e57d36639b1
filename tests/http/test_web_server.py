"""A web server stops without a nap, and without losing what is under way."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from types import FrameType

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from tests.support.eventually import PATIENCE, eventually
from tests.support.web import async_web_client

from holdfast.http.web_server import WebServer


class Desk:
    """Answers at once at `/`, and at `/slow` when it is let; knows what was cancelled."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.let = asyncio.Event()
        self.cancelled = False

    @property
    def app(self) -> Starlette:
        """What is served."""
        return Starlette(routes=[Route("/", self._quick), Route("/slow", self._slow)])

    async def _quick(self, _request: Request) -> PlainTextResponse:
        return PlainTextResponse("quick")

    async def _slow(self, _request: Request) -> PlainTextResponse:
        self.asked.set()
        try:
            await self.let.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return PlainTextResponse("slow")


@asynccontextmanager
async def serving(desk: Desk, grace_seconds: int = 30) -> AsyncIterator[tuple[WebServer, "asyncio.Task[None]", str]]:
    """A server, its task, and where it is."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(desk.app, log_config=None, lifespan="off", timeout_graceful_shutdown=grace_seconds)
    server = WebServer(config)
    task = asyncio.create_task(server.serve([listener]))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    await eventually(lambda: server.started)
    try:
        yield server, task, url
    finally:
        server.force_exit = True
        server.stop()
        await task


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The naps that were taken: each of them is a delay, whatever the machine."""
    taken: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        if seconds:
            taken.append(seconds)
        await sleep(seconds)

    monkeypatch.setattr(asyncio, "sleep", note)
    return taken


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """The signals that the server gave back to whoever had them before."""
    given_back: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        given_back.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    yield given_back
    for number, handler in before.items():
        signal.signal(number, handler)


async def test_a_stop_takes_no_nap(naps: list[float]) -> None:
    async with serving(Desk()) as (server, task, url), async_web_client() as client:
        assert (await client.get(url)).text == "quick"
        del naps[:]
        server.stop()
        await task
        assert naps == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_is_heard_at_once(naps: list[float], heard: list[int], number: signal.Signals) -> None:
    async with serving(Desk()) as (_, task, _):
        del naps[:]
        signal.raise_signal(number)
        await task
        assert naps == []
        assert heard == [number]


async def test_what_is_under_way_is_answered_and_the_connection_ends() -> None:
    desk = Desk()
    async with serving(desk) as (server, task, url), async_web_client() as client:
        asking = asyncio.create_task(client.get(url + "/slow"))
        await desk.asked.wait()
        server.stop()
        await eventually(lambda: not server.servers[0].is_serving())
        assert not task.done()
        desk.let.set()
        answer = await asking
        assert (answer.text, answer.headers["connection"]) == ("slow", "close")
        await task


async def test_what_was_asked_right_before_the_stop_is_answered() -> None:
    async with serving(Desk()) as (server, task, url):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
        await eventually(lambda: server.server_state.connections)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        server.stop()
        async with asyncio.timeout(PATIENCE):
            assert (await reader.read()).endswith(b"quick")
        await task
        writer.close()


async def test_a_second_ctrl_c_waits_for_nobody(heard: list[int]) -> None:
    desk = Desk()
    async with serving(desk) as (server, task, url), async_web_client() as client:
        asking = asyncio.create_task(client.get(url + "/slow"))
        await desk.asked.wait()
        signal.raise_signal(signal.SIGINT)
        await eventually(lambda: not server.servers[0].is_serving())
        assert not task.done()
        signal.raise_signal(signal.SIGINT)
        await task
        assert not asking.done()
        assert heard == [signal.SIGINT, signal.SIGINT]
        asking.cancel()


async def test_who_does_not_end_in_time_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    async with serving(desk, grace_seconds=0) as (server, task, url), async_web_client() as client:
        asking = asyncio.create_task(client.get(url + "/slow"))
        await desk.asked.wait()
        server.stop()
        await task
        await eventually(lambda: desk.cancelled)
        with suppress(Exception):
            await asking
    assert "1 requests were not answered in time" in caplog.text
