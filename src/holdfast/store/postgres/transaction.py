"""Writing and reading through one PostgreSQL connection.

A group of writes is pipelined: statements whose results nobody needs are sent without waiting. An error then shows
late, so a group that meets one is taken back whole and its members run again cautiously, one statement at a time.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from holdfast.core import HoldfastError
from holdfast.store.engine import READ_SECONDS, Damage, Recorded, Row, Tx
from holdfast.store.postgres.connection import (
    ERRORS,
    dollars,
    explain,
    lock_number,
    together,
    was_refused,
)
from holdfast.store.postgres.server import Connection

LOCK = "SELECT pg_advisory_xact_lock(k) FROM unnest(?1::bigint[]) AS k"
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(?1)"
CANCEL_SECONDS = 2.0
NOW = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"


class PostgresTx:
    """One transaction on one connection."""

    __slots__ = ("_connection", "changed", "recorded", "rerun")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.rerun = False
        self.changed = False
        self.recorded: list[Recorded] = []

    @property
    def history(self) -> str:
        """The history of transaction ids that it sees."""
        return self._connection.history

    def one(self, sql: str, *args: Any) -> Row | None:
        """The first row, or None."""
        return self._connection.execute(dollars(sql), args, binary=True).fetchone()

    def all(self, sql: str, *args: Any) -> list[Row]:
        """Every row."""
        return self._connection.execute(dollars(sql), args, binary=True).fetchall()

    def run(self, sql: str, *args: Any) -> None:
        """Change rows; nothing comes back."""
        self.changed = True
        self._connection.execute(dollars(sql), args)

    def run_together(self, *changes: tuple[str, Sequence[Any]]) -> None:
        """One statement that makes all the changes."""
        self.changed = True
        sql = together(tuple((sql, len(args)) for sql, args in changes))
        self._connection.execute(sql, [value for _, args in changes for value in args])

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The same statement for each row of arguments."""
        self.changed = True
        with self._connection.cursor() as cursor:
            cursor.executemany(dollars(sql), rows)

    def leave_no_trace(self) -> None:
        """The server's vacuum removes what is dead, in its own time."""

    def now(self) -> int:
        """The database's clock: one for all processes."""
        row = self.one(NOW)
        assert row is not None
        return int(row[0])

    def lock(self, name: str) -> None:
        """An advisory lock until the transaction ends."""
        self._connection.execute(dollars(LOCK), ([lock_number(name)],))

    def try_lock(self, name: str) -> bool:
        """An advisory lock, if it is free."""
        return self.one(TRY_LOCK, lock_number(name)) == (True,)


class PostgresWriter:
    """A lane's connection."""

    errors = ERRORS

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._connection = connect()
        self._pipeline: contextlib.AbstractContextManager[Any] | None = None

    @property
    def history(self) -> str:
        """The history that what it commits belongs to."""
        return self._connection.history

    def begin(self, locks: Sequence[str], *, cautious: bool, makes_room: bool) -> Tx:
        """Open a transaction and take the advisory locks, in one order for everybody, before anything is read."""
        if self._connection.info.transaction_status != TransactionStatus.IDLE:
            raise psycopg.OperationalError("the connection was left in the middle of something")
        if not cautious:
            self._pipeline = self._connection.pipeline()
            self._pipeline.__enter__()
        self._connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        tx = PostgresTx(self._connection)
        if locks:
            tx.run(LOCK, sorted({lock_number(name) for name in locks}))
        return tx

    def savepoint(self) -> None:
        """Mark the place that `undo` returns to."""
        self._connection.execute("SAVEPOINT w")

    def release(self) -> None:
        """Keep what was done since the savepoint."""
        self._connection.execute("RELEASE SAVEPOINT w")

    def undo(self) -> None:
        """Take back what was done since the savepoint."""
        self._connection.execute("ROLLBACK TO SAVEPOINT w")
        self._connection.execute("RELEASE SAVEPOINT w")

    def commit(self) -> None:
        """Return once the server says that it is durable."""
        done = self._connection.execute("COMMIT")
        self._leave_pipeline()
        if done.statusmessage != "COMMIT":
            raise psycopg.InternalError(f"the server answered {done.statusmessage} to COMMIT")

    def rollback(self) -> None:
        """Take back everything since `begin`; an aborted pipeline swallows ROLLBACK, so leave it first."""
        with contextlib.suppress(psycopg.Error):
            self._leave_pipeline()
        with contextlib.suppress(psycopg.Error):
            if self._connection.info.transaction_status != TransactionStatus.IDLE:
                self._connection.execute("ROLLBACK")

    def damage(self, error: Exception, *, committing: bool) -> Damage:
        """A lost connection leaves a commit's outcome unknown; what the server itself refused, it rolled back."""
        lost = self._connection.closed or self._connection.broken
        return Damage.DISCONNECTED if lost or not was_refused(error) else Damage.NONE

    def explain(self, error: Exception) -> HoldfastError:
        """The error as a caller should see it."""
        return explain(error)

    def reconnect(self) -> None:
        """Replace a lost connection."""
        with contextlib.suppress(psycopg.Error):
            self._leave_pipeline()
        self._connection.close()
        self._connection = self._connect()

    def rest(self, *, idle: bool) -> None:
        """The server looks after itself."""

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _leave_pipeline(self) -> None:
        if self._pipeline is not None:
            pipeline, self._pipeline = self._pipeline, None
            pipeline.__exit__(None, None, None)


class ReadTx(PostgresTx):
    """A transaction that reads: it ends when its time is up, or nobody waits for it, at the next statement or within.

    The server knows only how long a statement may take. It is told again what is left once that is a second less.
    """

    __slots__ = ("_deadline", "_gone", "_told")

    def __init__(self, connection: Connection, gone: Callable[[], bool]) -> None:
        super().__init__(connection)
        self._deadline = time.monotonic() + READ_SECONDS
        self._gone = gone
        self._told = READ_SECONDS

    def one(self, sql: str, *args: Any) -> Row | None:
        """The first row, or None."""
        self._go_on()
        return super().one(sql, *args)

    def all(self, sql: str, *args: Any) -> list[Row]:
        """Every row."""
        self._go_on()
        return super().all(sql, *args)

    def _go_on(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0 or self._gone():
            raise psycopg.errors.QueryCanceled("too slow between statements, or nobody waits for it")
        if left < self._told - 1:
            self._told = left
            self._connection.execute(f"SET LOCAL statement_timeout = '{max(1, int(left * 1000))}ms'")


class PostgresReader:
    """A reading connection, made anew when it was lost."""

    errors = ERRORS

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._connection = connect()
        self._interrupted = False

    def snapshot(self, fn: Callable[[Tx], Any], gone: Callable[[], bool]) -> Any:
        """Run `fn` over one consistent, read-only view of the store."""
        self._settle()
        if self._connection.closed:
            self._connection = self._connect()
        try:
            return self._attempt(fn, gone)
        except psycopg.OperationalError:
            if not self._connection.closed or gone():
                raise
            self._connection = self._connect()
            return self._attempt(fn, gone)

    def interrupt(self) -> None:
        """Ask the server to end the statement that runs."""
        self._interrupted = True
        with contextlib.suppress(psycopg.Error):  # what cannot be ended so is ended by its time
            self._connection.cancel_safe(timeout=CANCEL_SECONDS)

    def explain(self, error: Exception) -> HoldfastError:
        """The error as a caller should see it."""
        return explain(error)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _settle(self) -> None:
        """Let the server's answer to an interrupt that came late meet a statement of nobody's."""
        if self._interrupted:
            self._interrupted = False
            with contextlib.suppress(psycopg.Error):
                self._connection.execute("SELECT 1")

    def _attempt(self, fn: Callable[[Tx], Any], gone: Callable[[], bool]) -> Any:
        connection = self._connection
        try:
            with connection.pipeline():
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                result = fn(ReadTx(connection, gone))
                connection.execute("COMMIT")
                return result
        finally:
            if not connection.closed and connection.info.transaction_status != TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
