"""A small connection pooler before a PostgreSQL server, which does what pgbouncer does in session or transaction mode.

A client gets a server session for one transaction, or for as long as it stays; the one that was given back last is
given out first. As real poolers do, it makes up the process number that it tells a client. It knows trust only.
"""

import asyncio
import itertools
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from psycopg.conninfo import conninfo_to_dict

STARTUP = 196608
NO_ENCRYPTION = b"N"
IDLE = b"I"
ASKS_FOR_READY = frozenset({b"Q", b"S"})


@dataclass(slots=True)
class Session:
    """One session of the server's."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    told: bytes = b""
    """What the server said of itself when the session began."""


@dataclass(slots=True)
class Pooler:
    """What the clients share; `keeps` is session mode."""

    socket: str
    database: str
    keeps: bool
    port: int = 0
    idle: list[Session] = field(default_factory=list)
    all: list[Session] = field(default_factory=list)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1_000_000_000))

    @property
    def url(self) -> str:
        """The database's URL through this pooler."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{self.database}"

    async def serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        """One client, until it leaves."""
        session: Session | None = None
        try:
            while await _startup(client) != STARTUP:
                to_client.write(NO_ENCRYPTION)
            session = await self._take()
            key = struct.pack("!cIII", b"K", 12, next(self.numbers), 0)
            to_client.write(struct.pack("!cII", b"R", 8, 0) + session.told + key + struct.pack("!cIc", b"Z", 5, IDLE))
            while True:
                if not self.keeps:
                    self.idle.append(session)
                    session = None
                kind, message = await _message(client)
                session = session or await self._take()
                await self._transaction(session, client, to_client, kind, message)
        except (OSError, EOFError):
            pass
        finally:
            to_client.transport.abort()
            if session is not None:
                session.writer.transport.abort()

    async def _transaction(
        self,
        session: Session,
        client: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
        kind: bytes,
        message: bytes,
    ) -> None:
        """Pass on what both say, from this first message on, until the server is idle and owes no answer."""
        owed = int(kind in ASKS_FOR_READY)
        session.writer.write(message)
        asking = asyncio.create_task(_message(client))
        answering = asyncio.create_task(_message(session.reader))
        try:
            while True:
                await asyncio.wait((asking, answering), return_when=asyncio.FIRST_COMPLETED)
                if asking.done():
                    kind, message = asking.result()
                    owed += kind in ASKS_FOR_READY
                    session.writer.write(message)
                    asking = asyncio.create_task(_message(client))
                if answering.done():
                    kind, message = answering.result()
                    to_client.write(message)
                    owed -= kind == b"Z"
                    if kind == b"Z" and not owed and message[-1:] == IDLE and not self.keeps:
                        return
                    answering = asyncio.create_task(_message(session.reader))
        finally:
            for task in (asking, answering):
                task.cancel()
            await asyncio.gather(asking, answering, return_exceptions=True)

    async def _take(self) -> Session:
        if self.idle:
            return self.idle.pop()
        reader, writer = await asyncio.open_unix_connection(self.socket)
        session = Session(reader, writer)
        self.all.append(session)
        asked = f"user\0postgres\0database\0{self.database}\0\0".encode()
        writer.write(struct.pack("!II", len(asked) + 8, STARTUP) + asked)
        while (found := await _message(reader))[0] != b"Z":
            session.told += found[1] if found[0] == b"S" else b""
        return session


async def _startup(reader: asyncio.StreamReader) -> int:
    size, code = struct.unpack("!II", await reader.readexactly(8))
    await reader.readexactly(size - 8)
    return int(code)


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    kind, size = struct.unpack("!cI", head)
    return kind, head + await reader.readexactly(size - 4)


@asynccontextmanager
async def pooler_before(url: str, *, keeps: bool) -> AsyncIterator[Pooler]:
    """A pooler before the server of a URL that names a Unix socket."""
    given = conninfo_to_dict(url)
    pooler = Pooler(f"{given['host']}/.s.PGSQL.{given.get('port', 5432)}", str(given["dbname"]), keeps)
    underway: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.create_task(pooler.serve(reader, writer))
        underway.add(serving)
        serving.add_done_callback(underway.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    pooler.port = server.sockets[0].getsockname()[1]
    try:
        yield pooler
    finally:
        server.close()
        for serving in underway:
            serving.cancel()
        await asyncio.gather(*underway, return_exceptions=True)
        for session in pooler.all:
            session.writer.transport.abort()
        await asyncio.sleep(0)
