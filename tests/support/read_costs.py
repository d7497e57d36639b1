"""What a read costs, counted: statements, rows and bytes that came back, and on SQLite the steps inside."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from holdfast.core import SystemClock
from holdfast.store import Store
from holdfast.store.engine import Row, Tx
from holdfast.store.sqlite.transaction import SqliteTx


@dataclass
class Counting:
    """A transaction that counts what it is asked and what comes back."""

    inner: Any
    statements: int = 0
    rows: int = 0
    size: int = 0

    def one(self, sql: str, *args: Any) -> Row | None:
        row: Row | None = self.inner.one(sql, *args)
        self._count([] if row is None else [row])
        return row

    def all(self, sql: str, *args: Any) -> list[Row]:
        rows: list[Row] = self.inner.all(sql, *args)
        self._count(rows)
        return rows

    def _count(self, rows: list[Row]) -> None:
        self.statements += 1
        self.rows += len(rows)
        self.size += sum(len(value) for row in rows for value in row if isinstance(value, bytes | str))


async def cost_of(store: Store, read: Callable[[Tx], Any]) -> tuple[int, int, int]:
    """How many statements a read takes, and how many rows and bytes come back."""

    def run(tx: Tx) -> Counting:
        counting = Counting(tx)
        read(counting)  # type: ignore[arg-type]
        return counting

    counted = await store.sessions.workers.read(run)
    return counted.statements, counted.rows, counted.size


def steps_of(path: Path, read: Callable[[Tx], Any]) -> int:
    """How many steps SQLite's machine takes for a read: what is looked at counts, also if it does not come back."""
    steps = 0

    def step() -> bool:
        nonlocal steps
        steps += 1
        return False

    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_progress_handler(step, 1)
        read(SqliteTx(connection, SystemClock()))
    finally:
        connection.close()
    return steps
