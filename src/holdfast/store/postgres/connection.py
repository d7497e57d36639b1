"""Connections to PostgreSQL, and its errors in our words."""

import hashlib
import re
from functools import cache, lru_cache
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg.types.numeric import Int8Dumper

from holdfast.core import HoldfastError
from holdfast.core.errors import (
    Busy,
    Corrupt,
    EngineRefused,
    InvalidInput,
    ReadTimeout,
    StorageFull,
    StoreFailed,
    StoreUnavailable,
)
from holdfast.store.engine import READ_SECONDS
from holdfast.store.postgres.server import Connection

ERRORS: tuple[type[Exception], ...] = (psycopg.Error,)
OLDEST_SERVER = 130000
LOCK_WAIT = "10s"


def connect(url: str, *, read_only: bool = False) -> Connection:
    """A connection on which a commit is durable when it returns."""
    connection = Connection.connect(
        url, autocommit=True, prepare_threshold=2, cursor_factory=psycopg.RawCursor, connect_timeout=10
    )
    connection.adapters.register_dumper(int, Int8Dumper)  # one statement for all sizes of integers
    connection.execute("SET synchronous_commit = on")
    connection.execute("SET client_encoding = 'UTF8'")
    connection.execute(f"SET lock_timeout = '{LOCK_WAIT}'")
    connection.execute(f"SET idle_in_transaction_session_timeout = '{LOCK_WAIT}'")
    if read_only:
        connection.execute("SET default_transaction_read_only = on")
        connection.execute(f"SET statement_timeout = '{READ_SECONDS * 1000:.0f}ms'")
    return connection


def check_server(connection: Connection) -> str:
    """The server's version, or EngineRefused if its settings could lose what was acknowledged."""
    if connection.info.server_version < OLDEST_SERVER:
        raise EngineRefused("PostgreSQL 13 or newer is needed", version=connection.info.server_version)
    for setting in ("fsync", "full_page_writes"):
        if _show(connection, setting) != "on":
            raise EngineRefused(
                f"the server runs with {setting}=off: a crash could lose acknowledged events",
                hint=f"set {setting}=on in postgresql.conf and restart the server",
            )
    if _show(connection, "server_encoding") != "UTF8":
        raise EngineRefused("the database's encoding is not UTF8", hint="create it WITH ENCODING 'UTF8'")
    row = connection.execute("SELECT pg_is_in_recovery()").fetchone()
    if row is None or row[0]:
        raise EngineRefused("the server is a read replica", hint="use the primary's address")
    return _show(connection, "server_version").split()[0]


@cache
def dollars(sql: str) -> bytes:
    """The statement with PostgreSQL's placeholders."""
    return re.sub(r"\?(\d+)", r"$\1", sql).encode()


@cache
def together(changes: tuple[tuple[str, int], ...]) -> bytes:
    """One statement for several, each given with the number of its arguments, which follow one another."""
    parts: list[str] = []
    used = 0
    for sql, count in changes:
        parts.append(re.sub(r"\?(\d+)", lambda mark, used=used: f"${int(mark[1]) + used}", sql))  # type: ignore[misc]
        used += count
    named = ", ".join(f"c{number} AS ({part})" for number, part in enumerate(parts[:-1]))
    return f"WITH {named} {parts[-1]}".encode()


@lru_cache(maxsize=65_536)
def lock_number(name: str) -> int:
    """The advisory lock that stands for a name."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    try:
        parts = urlsplit(url)
        url.encode()
    except ValueError as error:
        raise InvalidInput(
            f"that is not a PostgreSQL URL: {error}", hint="for example postgresql://user@host/database"
        ) from None
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=user.split(":")[0] + at + host, query=""))


def explain(error: Exception) -> HoldfastError:
    """A PostgreSQL error as a caller should see it."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    match error:
        case psycopg.errors.DiskFull():
            return StorageFull(f"the database server's disk is full ({text})")
        case psycopg.errors.LockNotAvailable():
            return Busy(f"another writer kept the session locked for {LOCK_WAIT}", retry_after=1)
        case psycopg.errors.TooManyConnections():
            return Busy(f"the database server has no free connection ({text})", retry_after=1)
        case psycopg.errors.QueryCanceled():
            return ReadTimeout(f"a read was ended after {READ_SECONDS:.0f} s")
        case psycopg.errors.DataCorrupted() | psycopg.errors.IndexCorrupted():
            return Corrupt(f"the database is damaged: {text}")
        case psycopg.DataError():
            return InvalidInput(f"the database cannot keep this: {text}")
        case psycopg.OperationalError():
            return StoreUnavailable(f"the database cannot be reached: {text}")
        case _:
            return StoreFailed(f"the database refused: {text}")


def was_refused(error: Exception) -> bool:
    """Whether the server answered with an error, and goes on, or was not even asked because a value cannot be sent.

    Anything else says nothing about what the server did.
    """
    code = error.sqlstate if isinstance(error, psycopg.Error) else None
    if code is None:
        return isinstance(error, psycopg.DataError)
    return not code.startswith(("08", "57P"))


def _show(connection: Connection, setting: str) -> str:
    row = connection.execute("SELECT current_setting($1)", (setting,)).fetchone()
    assert row is not None
    return str(row[0])
