"""The gateway behind `holdfast mcp` is held while it is asked, and let go in every pause; and lines on a pipe."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.process import running
from tests.mcp_server.test_stdio import HELLO, call
from tests.support.eventually import PATIENCE, eventually

from holdfast.cli.mcp.held_gateway import HeldGateway
from holdfast.cli.options import Location
from holdfast.core import HoldfastError
from holdfast.core.errors import NotFound, StoreInUse
from holdfast.core.store_file import StoreLock, lock_path
from holdfast.gateway.mcp.message import LARGEST_CALL
from holdfast.gateway.mcp.server import mcp_server
from holdfast.gateway.mcp.service import MOST_BYTES, AnswerTooLarge, RouteRequest
from holdfast.gateway.mcp.stdio import StdinLines, StdioClient, StdoutLines

LIST = RouteRequest("GET", "/api/sessions")
QUIET = 0.05
"""A pause that is over soon."""


@asynccontextmanager
async def held(data: Path, **options: Any) -> AsyncIterator[HeldGateway]:
    gateway = HeldGateway(Location(data, None, None, None), **{"pause_seconds": QUIET} | options)
    try:
        yield gateway
    finally:
        await gateway.let_go()


def append(number: int) -> RouteRequest:
    body = {"type": "note", "details": {"n": number}}
    return RouteRequest("POST", "/api/actions/s1", body=body, key=f"once-{number}")


async def test_to_look_makes_no_store_and_to_write_does_also_when_both_come_at_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with held(data) as gateway:
        with pytest.raises(NotFound):
            await gateway.ask(LIST)
        assert not data.exists()
        looked, wrote = await asyncio.gather(gateway.ask(LIST), gateway.ask(append(1)), return_exceptions=True)
        assert isinstance(looked, NotFound)
        assert isinstance(wrote, bytes)
        assert json.loads(await gateway.ask(LIST))["sessions"][0]["sessionId"] == "s1"


async def test_two_of_them_take_turns_and_a_gateway_that_was_started_is_asked(tmp_path: Path) -> None:
    async with held(tmp_path) as one, held(tmp_path) as two:
        for number in range(4):
            await asyncio.gather(*(gateway.ask(append(number)) for gateway in (one, two)))
        await eventually(lambda: _free(tmp_path))
        with running(tmp_path) as beside:
            await asyncio.gather(*(gateway.ask(append(9)) for gateway in (one, two)))
            assert beside.stop()[0] == 0
        await eventually(lambda: _goes_on(one))
        assert json.loads(await one.ask(LIST))["sessions"][0]["headSeq"] == 5


def _free(data: Path) -> bool:
    """Whether nobody has the store."""
    try:
        with StoreLock(lock_path(data / "holdfast.db")):
            return True
    except StoreInUse:
        return False


async def _goes_on(gateway: HeldGateway) -> bool:
    """Whether it has noticed that the gateway which it asked is gone."""
    try:
        await gateway.ask(LIST)
    except HoldfastError:
        return False
    return True


async def test_whoever_keeps_the_store_for_too_long_is_named(tmp_path: Path) -> None:
    with StoreLock(lock_path(tmp_path / "holdfast.db")) as lock:
        lock.say({"pid": os.getpid(), "command": True})
        async with held(tmp_path, patience_seconds=0.1) as gateway:
            with pytest.raises(StoreInUse):
                await gateway.ask(append(1))


async def test_an_answer_that_is_too_large_is_refused_while_it_comes(tmp_path: Path) -> None:
    async with held(tmp_path) as gateway:
        for number in range(3):
            body = {"type": "note", "details": {"text": "x" * (MOST_BYTES // 2)}}
            await gateway.ask(RouteRequest("POST", "/api/actions/s1", body=body, key=str(number)))
        with pytest.raises(AnswerTooLarge):
            await gateway.ask(RouteRequest("GET", "/api/actions/s1"))
        assert json.loads(await gateway.ask(RouteRequest("GET", "/api/actions/s1", {"limit": 1})))["actions"]


@asynccontextmanager
async def piped(data: Path, last_seconds: float = PATIENCE) -> AsyncIterator[tuple[int, "asyncio.Task[None]", int]]:
    """Where to write lines, the conversation, and where to read them."""
    (source, to_it), (from_it, sink) = os.pipe(), os.pipe()
    async with held(data) as gateway:
        client = StdioClient(StdinLines(source), StdoutLines(sink), last_seconds)
        yield to_it, asyncio.create_task(client.hold(mcp_server(lambda _context: gateway))), from_it


def lines(*messages: Any) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in messages)


async def test_a_client_that_reads_no_more_ends_it(tmp_path: Path) -> None:
    async with piped(tmp_path) as (to_it, conversation, from_it):
        os.close(from_it)
        os.write(to_it, lines(HELLO, call("create_session", 1)))
        async with asyncio.timeout(PATIENCE):
            await conversation


async def test_a_call_that_is_cancelled_is_not_waited_for_at_the_end(tmp_path: Path) -> None:
    async with piped(tmp_path, last_seconds=10 * PATIENCE) as (to_it, conversation, from_it):
        with StoreLock(lock_path(tmp_path / "holdfast.db")) as lock:
            lock.say({"pid": os.getpid(), "command": True})
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
            os.write(to_it, lines(HELLO, call("create_session", 7), cancelled))
            os.close(to_it)
            async with asyncio.timeout(PATIENCE):
                await conversation
        said = os.read(from_it, LARGEST_CALL)
        assert [json.loads(line)["id"] for line in said.splitlines()] == ["hello"]


async def test_a_line_may_be_as_long_as_a_message_and_no_longer(tmp_path: Path) -> None:
    async with piped(tmp_path) as (to_it, conversation, from_it):
        line = lines({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        padded = line[:-1] + b" " * (LARGEST_CALL - len(line) + 1)
        asyncio.get_running_loop().run_in_executor(None, _write_and_close, to_it, padded + b"\n" + padded + b" \n")
        async with asyncio.timeout(PATIENCE):
            await conversation
        first, second = (json.loads(each) for each in os.read(from_it, LARGEST_CALL).splitlines())
        assert {first["id"], second["id"]} == {1, None}


def _write_and_close(to_it: int, content: bytes) -> None:
    with os.fdopen(to_it, "wb") as pipe:
        pipe.write(content)
