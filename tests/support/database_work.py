"""What a database looks at for a store, also if it does not come back: SQLite's steps, PostgreSQL's rows.

The store is opened for the occasion, because PostgreSQL counts only once a connection has ended.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Any

import apsw
import psycopg
from tests.support.opening import store_with

from holdfast.store import Store

ROWS = """
    SELECT (SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_user_tables)
         + (SELECT coalesce(sum(idx_tup_read), 0) FROM pg_stat_user_indexes)"""
OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"""

Use = Callable[[Store], Awaitable[Any]]


async def looked_at(url: str, use: Use) -> int:
    """How much is looked at for what is done with a store, without what opening it takes."""
    look = _steps if url.startswith("sqlite:") else _rows
    return await look(url, use) - await look(url, _nothing)


async def _nothing(store: Store) -> None:
    pass


async def _steps(url: str, use: Use) -> int:
    steps = 0

    def count(event: dict[str, Any]) -> None:
        nonlocal steps
        steps += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    def hook(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, count)

    apsw.connection_hooks.append(hook)
    try:
        async with store_with(url, ()) as store:
            await use(store)
    finally:
        apsw.connection_hooks.remove(hook)
    return steps


async def _rows(url: str, use: Use) -> int:
    with closing(psycopg.connect(url, autocommit=True)) as database:
        before = database.execute(ROWS).fetchall()[0][0]
        async with store_with(url, ()) as store:
            await use(store)
        while database.execute(OTHERS).fetchall()[0][0]:
            await asyncio.sleep(0.01)
        database.execute("SELECT pg_stat_clear_snapshot()")
        return int(database.execute(ROWS).fetchall()[0][0] - before)
