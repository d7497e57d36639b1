"""A TCP proxy before a PostgreSQL server that can fall silent: it closes nothing and answers nothing, like a host that
lost its power. New connections are accepted and not answered either."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from psycopg.conninfo import conninfo_to_dict

CHUNK = 64 * 1024


@dataclass(slots=True)
class SilentProxy:
    """Passes everything on while `speaks` is set."""

    socket: str
    database: str
    port: int = 0
    accepted: int = 0
    speaks: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """The database's URL through this proxy."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{self.database}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side closes it."""
        self.accepted += 1
        try:
            await self.speaks.wait()
            server, to_server = await asyncio.open_unix_connection(self.socket)
            try:
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._pass(reader, to_server))
                    both.create_task(self._pass(server, writer))
            finally:
                to_server.transport.abort()
        except* OSError:
            pass
        finally:
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK):
            await self.speaks.wait()
            writer.write(data)
            await writer.drain()
        await self.speaks.wait()
        raise ConnectionResetError("one side has closed")


@asynccontextmanager
async def silent_proxy(url: str) -> AsyncIterator[SilentProxy]:
    """A proxy before the server of a URL that names a Unix socket."""
    given = conninfo_to_dict(url)
    proxy = SilentProxy(f"{given['host']}/.s.PGSQL.{given.get('port', 5432)}", str(given["dbname"]))
    proxy.speaks.set()
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
        await asyncio.sleep(0)
