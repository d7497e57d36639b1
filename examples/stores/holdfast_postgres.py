"""Holdfast's own store on PostgreSQL: the server is that of HOLDFAST_PROVE_POSTGRES, and is asked for new databases.

Each folder of a run has a database of its own, which is left behind.
"""

import hashlib
import os
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from holdfast_sqlite import GARBAGE, Holdfast

from holdfast import __version__

SERVER = "HOLDFAST_PROVE_POSTGRES"
DAMAGE = """
    UPDATE transcript_events SET payload = %s
    WHERE seq = %s AND session_no = (SELECT session_no FROM sessions WHERE session_id = %s)"""


class HoldfastOnPostgres(Holdfast):
    """The same adapter; only damage and size are the server's matter."""

    subject = f"holdfast {__version__}, PostgreSQL"

    async def open(self) -> None:
        database = urlsplit(self._url).path.lstrip("/")
        with psycopg.connect(os.environ[SERVER], autocommit=True) as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchone()
            if found is None:
                connection.execute(f'CREATE DATABASE "{database}"'.encode())
        await super().open()

    async def damage(self, session: str, index: int) -> None:
        with psycopg.connect(self._url) as connection:
            connection.execute(DAMAGE, (GARBAGE, index + 1, session))

    async def size(self) -> int | None:
        with psycopg.connect(self._url) as connection:
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return None if row is None else int(row[0])


def factory(folder: Path) -> HoldfastOnPostgres:
    """A database named after the folder."""
    if SERVER not in os.environ:
        raise LookupError(f"set {SERVER} to the URL of a server on which databases may be made")
    name = "prove_" + hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    server = urlsplit(os.environ[SERVER])
    return HoldfastOnPostgres(server._replace(path=f"/{name}").geturl())
