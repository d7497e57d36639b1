"""The servers that share a store: each says now and then that it lives, and where.

A SQLite store has one server, which its lock and its owner's row name; this is for those that others can share.
"""

from dataclasses import dataclass

from holdfast.store.engine import Tx
from holdfast.store.part import Part

BEAT = """
    INSERT INTO servers (server, url, host, pid, started_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (server) DO UPDATE SET expires_at = excluded.expires_at"""
BURY = "DELETE FROM servers WHERE expires_at < ?1"
LEAVE = "DELETE FROM servers WHERE server = ?1"
LIST = "SELECT server, url, host, pid, started_at FROM servers WHERE expires_at >= ?1 ORDER BY started_at, server"


@dataclass(frozen=True, slots=True)
class LiveServer:
    """One server: its URL, its machine, its process there, and since when."""

    server: str
    url: str
    host: str
    pid: int
    started_at: int


class Servers(Part):
    """`store.servers`."""

    __slots__ = ()

    async def beat(self, server: LiveServer, ttl_ms: int) -> None:
        """Say that this server lives for another while; those that have stopped saying so are forgotten."""

        def write(tx: Tx) -> None:
            now = tx.now()
            about = (server.server, server.url, server.host, server.pid, server.started_at)
            tx.run(BEAT, *about, now + ttl_ms)
            tx.run(BURY, now)

        await self.workers.write(write, ("servers",), makes_room=True)

    async def leave(self, server: LiveServer) -> None:
        """Say that this server has ended."""
        await self.workers.write(lambda tx: tx.run(LEAVE, server.server), ("servers",), makes_room=True)

    async def list(self) -> list[LiveServer]:
        """Those that live, the oldest first."""
        rows = await self.workers.read(lambda tx: tx.all(LIST, tx.now()))
        return [LiveServer(*row) for row in rows]
