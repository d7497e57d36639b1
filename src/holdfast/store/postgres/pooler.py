"""Whether a pooler stands before the server, and gives each transaction to whichever session is free.

Such a pooler (transaction or statement mode) breaks what we rely on: settings of the session, prepared statements,
LISTEN. In session mode a connection keeps its server session, and all is well.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

import psycopg

from holdfast.core.errors import EngineRefused
from holdfast.store.postgres.server import Connection

BACKEND = "SELECT pg_backend_pid()"
TIMES = 5
HINT = "set pool_mode = session for this database, or give the database server's own address in the store URL"


def refuse_shared_sessions(
    connection: Connection, backend: int, another: Callable[[], AbstractContextManager[Connection]]
) -> None:
    """EngineRefused if the connection does not keep its server session; `backend` is the one that it had.

    A server names its process when a connection begins, and a pooler names none or makes one up: only then there is
    more to see. A transaction on another connection takes the session that a shared one has left, or a third one that
    somebody else has just left: so it is tried a few times.
    """
    if connection.info.backend_pid == backend:
        return
    try:
        with another() as other:
            kept = all(_keeps(connection, backend, other) for _ in range(TIMES))
    except psycopg.errors.ProtocolViolation:  # in statement mode it refuses a transaction
        kept = False
    if not kept:
        raise EngineRefused(
            "a connection pooler in transaction mode stands before the database: a connection must keep its session",
            hint=HINT,
        )


def _keeps(connection: Connection, backend: int, other: Connection) -> bool:
    if _backend(connection) != backend:
        return False
    with other.transaction():
        return _backend(other) != backend and _backend(connection) == backend


def _backend(connection: Connection) -> int:
    row = connection.execute(BACKEND, prepare=False).fetchone()
    assert row is not None
    return int(row[0])
