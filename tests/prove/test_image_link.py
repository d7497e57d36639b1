"""The link into a sender: every byte arrives, each connection ends by itself, and nothing is sent twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.support.eventually import PATIENCE, eventually

from holdfast.prove.targets.containers.link import HOST, Link

LARGE = b"".join(number.to_bytes(4, "big") for number in range(200_000))


@asynccontextmanager
async def linked_to(port: int) -> AsyncIterator[Link]:
    """A link whose far side is a process of this machine."""
    link, before = Link(), len(asyncio.all_tasks())
    try:
        await link.open((), (HOST, port))
        yield link
    finally:
        link.close()
        await eventually(lambda: len(asyncio.all_tasks()) <= before and not link.opened)


@asynccontextmanager
async def echo() -> AsyncIterator[tuple[asyncio.Server, int, list[bytes]]]:
    """A server that says again what it hears; what the first piece of each connection was."""
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = True
        while piece := await reader.read(65536):
            if first:
                heard.append(piece)
            first = False
            if piece == b"hang up":
                break
            writer.write(piece)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, HOST, 0) as server:
        yield server, server.sockets[0].getsockname()[1], heard


async def said_again(link: Link, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(HOST, link.port)
    writer.write(data)
    answer = await reader.readexactly(len(data))
    writer.close()
    await writer.wait_closed()
    return answer


async def test_large_bodies_of_many_connections_arrive_whole() -> None:
    async with echo() as (_, port, _), linked_to(port) as link:
        bodies = [LARGE[number:] + bytes([number]) for number in range(8)]
        assert await asyncio.gather(*(said_again(link, body) for body in bodies)) == bodies


async def test_a_connection_that_the_target_ends_has_ended_here_and_another_can_be_made() -> None:
    async with echo() as (_, port, heard), linked_to(port) as link:
        reader, writer = await asyncio.open_connection(HOST, link.port)
        writer.write(b"hang up")
        assert await reader.read() == b""
        writer.write(b"too late")  # belongs to a connection that is over: it must not begin a second one
        assert await said_again(link, b"hello") == b"hello"
        assert heard == [b"hang up", b"hello"]
        writer.close()


async def test_of_two_connections_the_newer_may_speak_first() -> None:
    async with echo() as (_, port, _), linked_to(port) as link:
        older, to_older = await asyncio.open_connection(HOST, link.port)
        newer, to_newer = await asyncio.open_connection(HOST, link.port)
        for reader, writer in ((newer, to_newer), (older, to_older)):
            writer.write(b"hello")
            assert await asyncio.wait_for(reader.readexactly(5), PATIENCE) == b"hello"
        to_older.close()
        to_newer.close()


async def test_nobody_there_is_a_connection_that_ends() -> None:
    async with echo() as (server, port, _), linked_to(port) as link:
        server.close()
        await server.wait_closed()
        reader, writer = await asyncio.open_connection(HOST, link.port)
        writer.write(b"hello")
        assert await reader.read() == b""
        writer.close()


async def test_a_link_that_is_closed_leaves_nothing_listening() -> None:
    async with echo() as (_, port, _):
        async with linked_to(port) as link:
            assert await said_again(link, b"hello") == b"hello"
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(HOST, link.port)
