"""The gateway's database, read with SQL of the proof's own: read-only, in this process, never a checkpoint.

A look is one transaction, so all that it shows is of one moment.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Protocol
from urllib.parse import quote

from holdfast.core import HoldfastError
from holdfast.core.errors import InvalidInput, MissingExtra
from holdfast.core.redact import redact
from holdfast.core.store_file import HINT, sqlite_path

BUSY_SECONDS = 5.0
CONNECT_SECONDS = 5
WORDS = re.compile(r"(event|memory)_text(_\w+)?\Z")
"""The index of words: virtual tables, and those behind them, which not every SQLite can read."""

Row = dict[str, Any]


class RowsUnreadable(HoldfastError):
    """The database cannot be looked at from here, so nothing can be said of its rows."""

    code: ClassVar[str] = "rows_unreadable"
    status: ClassVar[int] = 503


class Look(Protocol):
    """The rows at one moment."""

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """The rows that a statement finds, by the names of their columns; `?` stands for a value."""
        ...

    def tables(self) -> list[str]:
        """Every table but the index of words."""
        ...


def open_database(url: str) -> "ProofDatabase":
    """The database behind a store's URL; nothing is opened yet."""
    path = sqlite_path(url)
    if path is not None:
        return SqliteDatabase(path)
    if url.startswith(("postgresql://", "postgres://")):
        return ServerDatabase(url)
    raise InvalidInput(f"{redact(url)!r:.80} is not a store's URL", hint=HINT)


class SqliteDatabase:
    """A SQLite file, opened with `mode=ro` for each look.

    SQLite makes the files beside one that nobody has open even so, and leaves them there, unless it is told that the
    file does not change.
    """

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path
        self._log = Path(f"{os.path.realpath(path)}-wal")
        self._uri = f"file:{quote(str(path))}?mode=ro"

    @contextmanager
    def look(self) -> Iterator[Look]:
        """Look at the rows; RowsUnreadable if that cannot be done."""
        uri = self._uri if self._log.exists() else f"{self._uri}&immutable=1"
        try:
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
        except sqlite3.Error as error:
            raise _unreadable(error) from error
        try:
            connection.execute("BEGIN")
            yield _SqliteLook(connection)
        except sqlite3.Error as error:
            raise _unreadable(error) from error
        finally:
            connection.close()


class _SqliteLook:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *values: Any) -> list[Row]:
        found = self._connection.execute(sql, values)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found]

    def tables(self) -> list[str]:
        found = self.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1")
        return [row["name"] for row in found if not WORDS.match(row["name"])]


class ServerDatabase:
    """A PostgreSQL database, with a connection of its own for each look."""

    def __init__(self, url: str) -> None:
        self.path: Path | None = None
        self._url = url

    @contextmanager
    def look(self) -> Iterator[Look]:
        """Look at the rows; RowsUnreadable if that cannot be done."""
        try:
            import psycopg
        except ImportError:
            raise MissingExtra("a PostgreSQL store needs psycopg", hint="pip install 'holdfast[postgres]'") from None
        try:
            with psycopg.connect(self._url, connect_timeout=CONNECT_SECONDS) as connection:
                connection.read_only = True
                connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                yield _ServerLook(connection)
        except psycopg.Error as error:
            raise _unreadable(error) from error


ProofDatabase = SqliteDatabase | ServerDatabase


class _ServerLook:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def rows(self, sql: str, *values: Any) -> list[Row]:
        found = self._connection.execute(sql.replace("?", "%s"), values)
        names = [column.name for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found]

    def tables(self) -> list[str]:
        found = self.rows(
            "SELECT table_name AS name FROM information_schema.tables "
            "WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY 1"
        )
        return [row["name"] for row in found if not WORDS.match(row["name"])]


def _unreadable(error: Exception) -> RowsUnreadable:
    return RowsUnreadable(
        f"the database cannot be read: {redact(' '.join(str(error).split()))}",
        hint="run the proof on the gateway's machine, as its user; a PostgreSQL store with a password is named with "
        "--store",
    )
