"""A TCP proxy that mistreats what a server sends: every connection comes to a bad end, at a place drawn beforehand.

A place is a number of bytes, so it may be before the first one, inside the handshake, or in the middle of a frame.
Which ends there were is counted.
"""

import asyncio
import random
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

RESET = struct.pack("ii", 1, 0)
"""Linger for no time: closing then sends a reset, and what was not delivered is lost."""
CHUNK = 64 * 1024
HANDSHAKE = 400
LONGEST_STALL = 0.3
SILENCE = 8.0


@dataclass(frozen=True, slots=True)
class Doomed:
    """One connection, and how many bytes it will deliver."""

    chance: random.Random
    server: asyncio.StreamReader
    client: asyncio.StreamWriter
    length: int

    async def deliver(self, length: int, piece: int = CHUNK) -> None:
        """Deliver so many bytes in pieces of at most this size; ConnectionError if the server has no more."""
        while length:
            data = await self.server.read(min(length, CHUNK))
            if not data:
                raise ConnectionError("the server closed")
            length -= len(data)
            while data:
                size = CHUNK if piece == CHUNK else self.chance.randint(1, piece)
                self.client.write(data[:size])
                await self.client.drain()
                data = data[size:]
                if piece < CHUNK:
                    await asyncio.sleep(0)

    async def cut(self) -> None:
        """As it comes."""
        await self.deliver(self.length)

    async def in_pieces(self) -> None:
        """In small pieces."""
        await self.deliver(self.length, self.chance.choice((7, 60, 500)))

    async def trickle(self) -> None:
        """A few bytes now and then."""
        for _ in range(40):
            await self.deliver(self.length // 40 + 1, 3)
            await asyncio.sleep(0.002)

    async def stall(self) -> None:
        """With a pause in the middle, in which the server cannot send either."""
        await self.deliver(self.length // 2)
        await asyncio.sleep(self.chance.random() * LONGEST_STALL)
        await self.deliver(self.length // 2)


ENDS: dict[str, tuple[Callable[[Doomed], Awaitable[None]], float]] = {
    "reset": (Doomed.cut, 6),
    "half": (Doomed.cut, 6),
    "pieces": (Doomed.in_pieces, 3),
    "trickle": (Doomed.trickle, 1),
    "stall": (Doomed.stall, 2),
    "silence": (Doomed.cut, 0.2),
}
"""What may become of a connection, and how often. `half` closes in the middle of what it was saying, `silence` says
nothing more and leaves it to the client to notice; the others are reset."""


@dataclass(slots=True)
class ChaosProxy:
    """What the connections of one proxy share; each delivers `mean` bytes or so before its end."""

    server: tuple[str, int]
    chance: random.Random
    mean: int
    ends: Counter[str] = field(default_factory=Counter)
    port: int = 0

    @property
    def broken(self) -> int:
        """How many connections it has broken."""
        return self.ends.total()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        end = self.chance.choices(list(ENDS), [weight for _, weight in ENDS.values()])[0]
        try:
            server, to_server = await asyncio.open_connection(*self.server)
            try:
                await self._mistreat(end, Doomed(self.chance, server, writer, self._length()), reader, to_server)
            finally:
                _reset(to_server)
        except OSError:
            pass
        finally:
            if end == "half":
                writer.close()
            else:
                _reset(writer)

    async def _mistreat(
        self, end: str, connection: Doomed, reader: asyncio.StreamReader, to_server: asyncio.StreamWriter
    ) -> None:
        """Pass on what both sides say, until the client leaves or the connection has come to its place."""
        delivering = asyncio.ensure_future(ENDS[end][0](connection))
        asking = asyncio.create_task(_pass_on(reader, to_server))
        try:
            await asyncio.wait((delivering, asking), return_when=asyncio.FIRST_COMPLETED)
            if delivering.done() and delivering.exception() is None:
                self.ends[end] += 1
                if end == "silence":
                    await asyncio.wait((asking,), timeout=SILENCE)
        finally:
            for task in (delivering, asking):
                task.cancel()
            await asyncio.gather(delivering, asking, return_exceptions=True)

    def _length(self) -> int:
        if self.chance.random() < 0.1:
            return self.chance.randrange(HANDSHAKE)
        return HANDSHAKE + int(self.chance.expovariate(1 / self.mean))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """What the client says, until it leaves."""
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()


@asynccontextmanager
async def chaos_before(host: str, port: int, *, mean: int, seed: int) -> AsyncIterator[ChaosProxy]:
    """A proxy before a server, on a port of its own."""
    proxy = ChaosProxy((host, port), random.Random(seed), mean)
    underway: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.create_task(proxy.serve(reader, writer))
        underway.add(serving)
        serving.add_done_callback(underway.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for serving in underway:
            serving.cancel()
        await asyncio.gather(*underway, return_exceptions=True)
        await asyncio.sleep(0)  # what was closed is gone now
