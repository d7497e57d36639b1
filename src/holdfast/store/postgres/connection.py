"""Connections to PostgreSQL, and its errors in our words."""

import hashlib
import re
from functools import cache, lru_cache
from urllib.parse import urlsplit, urlunsplit

import psycopg

from holdfast.core import HoldfastError
from holdfast.core.errors import (
    Busy,
    Corrupt,
    InvalidInput,
    ReadTimeout,
    StorageFull,
    StoreFailed,
    StoreUnavailable,
)
from holdfast.store.postgres.database import PostgresDatabase, ServerRefused
from holdfast.store.postgres.pooler import HINT as POOLER
from holdfast.store.postgres.server import Connection
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

ERRORS: tuple[type[Exception], ...] = (psycopg.Error,)
READ_ONLY = "25006"
OF_A_VALUE = frozenset({"22001", "22003", "22021", "22P05"})
"""What a value can be refused for: its length, its size, its characters. The other errors of class 22 come of a
statement that is not the one we sent, or of a defect of ours."""
OUT_OF_STEP = frozenset({"08P01", "26000", "42P05"})
"""Errors of the protocol and of prepared statements: the server's session is not the one that we know."""
NO_PRIMARY = "see which server is the primary, and whether default_transaction_read_only is on there"
SERVER_LOG = "the database server's log says more; nothing was written"


def connect(url: str, *, read_only: bool = False) -> Connection:
    """A connection to a primary on which a commit is durable when it returns; its statements may take any time."""
    return PostgresDatabase(url).connect(read_only=read_only, patient=True)


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


def explain(error: Exception, tuning: StoreTuning = DEFAULT_TUNING) -> HoldfastError:
    """A PostgreSQL error as a caller should see it."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    match error:
        case ServerRefused():
            return StoreUnavailable(text, hint=error.refusal.hint)
        case psycopg.errors.DiskFull():
            return StorageFull(f"the database server's disk is full ({text})")
        case psycopg.errors.LockNotAvailable():
            return Busy(f"another writer kept the session locked for {tuning.lock_seconds:.0f}s", retry_after=1)
        case psycopg.errors.TooManyConnections():
            return Busy(f"the database server has no free connection ({text})", retry_after=1)
        case psycopg.errors.QueryCanceled():
            return ReadTimeout(f"a read was ended after {tuning.read_seconds:.0f} s")
        case psycopg.errors.DataCorrupted() | psycopg.errors.IndexCorrupted():
            return Corrupt(f"the database is damaged: {text}")
        case psycopg.errors.ReadOnlySqlTransaction():
            return StoreUnavailable(f"the database server takes no writes: {text}", hint=NO_PRIMARY)
        case psycopg.DataError() if error.sqlstate is None or error.sqlstate in OF_A_VALUE:
            return InvalidInput(f"the database cannot keep this: {text}")
        case psycopg.Error() if error.sqlstate in OUT_OF_STEP:
            return StoreUnavailable(f"the connection to the database is out of step: {text}", hint=POOLER)
        case psycopg.OperationalError() if not was_refused(error):
            return StoreUnavailable(f"the database cannot be reached: {text}")
        case _:
            return StoreFailed(f"the database refused: {text}", hint=SERVER_LOG)


def was_refused(error: Exception) -> bool:
    """Whether the server answered with an error, and goes on, or was not even asked because a value cannot be sent.

    Anything else says nothing about what the server did, or says that this connection is good for nothing more.
    """
    code = error.sqlstate if isinstance(error, psycopg.Error) else None
    if code is None:
        return isinstance(error, psycopg.DataError)
    return not code.startswith(("08", "57P")) and code not in OUT_OF_STEP and code != READ_ONLY
