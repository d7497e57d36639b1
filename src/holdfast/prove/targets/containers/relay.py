"""Carries connections between our machine and the runtime, over the standard streams of a command in the sender.

A piece is the number of its connection and its length, four bytes each, and then its bytes. A piece of no bytes is the
end of its connection; a number that was not heard before opens one. `python3 relay.py HOST PORT` is the far side, and
needs nothing but Python; `link` is the near side.
"""

import asyncio
import struct
import sys
from collections.abc import Awaitable, Callable

HEAD = struct.Struct(">II")
PIECE = 64 * 1024

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


class Pieces:
    """The connections of one side, and the stream of pieces to the other."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connect: Connect | None = None
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._connect = connect
        self._open: dict[int, asyncio.Queue[bytes]] = {}
        self._heard: set[int] = set()
        self._pumps: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Give every piece to its connection, until the other side is gone."""
        try:
            while True:
                number, length = HEAD.unpack(await self._reader.readexactly(HEAD.size))
                piece = await self._reader.readexactly(length)
                if number not in self._heard and self._connect is not None:
                    self._heard.add(number)  # what comes for a connection that has ended opens no second one
                    self._keep(self._reach(number))
                if number in self._open:
                    self._open[number].put_nowait(piece)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            for pump in self._pumps:
                pump.cancel()
            for inbox in self._open.values():
                inbox.put_nowait(b"")

    async def carry(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection both ways, until either side of it has ended."""
        inbox = self._open.setdefault(number, asyncio.Queue())
        outward = asyncio.create_task(self._send(number, reader))
        try:
            while piece := await inbox.get():
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            del self._open[number]
            outward.cancel()
            self._write(number, b"")
            writer.close()

    async def _send(self, number: int, reader: asyncio.StreamReader) -> None:
        try:
            while piece := await reader.read(PIECE):
                self._write(number, piece)
                await self._writer.drain()
        except ConnectionError:
            pass
        self._open[number].put_nowait(b"")

    def _keep(self, work: "asyncio.Task[None]") -> None:
        self._pumps.add(work)
        work.add_done_callback(self._pumps.discard)

    def _reach(self, number: int) -> "asyncio.Task[None]":
        """Open a connection of this number to where all of them go; one that cannot be opened ends at once."""
        self._open[number] = asyncio.Queue()

        async def reach() -> None:
            assert self._connect is not None
            try:
                reader, writer = await self._connect()
            except OSError:
                del self._open[number]
                self._write(number, b"")
                return
            await self.carry(number, reader, writer)

        return asyncio.create_task(reach())

    def _write(self, number: int, piece: bytes) -> None:
        self._writer.write(HEAD.pack(number, len(piece)) + piece)


async def far_side(host: str, port: int) -> None:
    """Carry what comes on stdin to a place, and its answers to stdout."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout.buffer)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    await Pieces(reader, writer, lambda: asyncio.open_connection(host, port)).run()


if __name__ == "__main__":
    asyncio.run(far_side(sys.argv[1], int(sys.argv[2])))
