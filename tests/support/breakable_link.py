"""A way to a PostgreSQL server that can be cut: a socket of its own, passed on to the server's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

SOCKET = ".s.PGSQL.5432"
CHUNK = 64 * 1024


@dataclass(slots=True)
class Way:
    """One way to the server; `url` leads over it."""

    url: str
    underway: set[asyncio.StreamWriter] = field(default_factory=set)

    def cut(self) -> int:
        """Break every connection, without a word; how many there were."""
        broken = len(self.underway)
        for writer in self.underway:
            writer.transport.abort()
        return broken

    async def carry(self, server: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side ends."""
        with suppress(OSError):
            from_server, to_server = await asyncio.open_unix_connection(server)
            ends = {writer, to_server}
            self.underway |= ends
            both = [asyncio.create_task(_pass(reader, to_server)), asyncio.create_task(_pass(from_server, writer))]
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self.underway -= ends
                for each in both:
                    each.cancel()
                await asyncio.gather(*both, return_exceptions=True)
                to_server.transport.abort()
        writer.transport.abort()


@asynccontextmanager
async def way_to(url: str, folder: Path) -> AsyncIterator[Way]:
    """A way to the server of this URL, through a socket in a folder."""
    split = urlsplit(url)
    server = f"{parse_qs(split.query)['host'][0]}/{SOCKET}"
    way = Way(urlunsplit(split._replace(query=f"host={folder}")))
    carried: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        carrying = asyncio.create_task(way.carry(server, reader, writer))
        carried.add(carrying)
        carrying.add_done_callback(carried.discard)

    folder.mkdir(parents=True, exist_ok=True)
    listener = await asyncio.start_unix_server(accept, folder / SOCKET)
    try:
        yield way
    finally:
        listener.close()
        for carrying in carried:
            carrying.cancel()
        await asyncio.gather(*carried, return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
