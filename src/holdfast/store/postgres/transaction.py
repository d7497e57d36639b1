"""Writing and reading through one PostgreSQL connection, made when it is first needed and anew when it was lost.

A group of writes is pipelined: statements whose results nobody needs are sent without waiting. An error then shows
late, so a group that meets one is taken back whole and its members run again cautiously, one statement at a time.

A commit is durable when the server says so without a warning, and a group that changes nothing, such as a retry, is
acknowledged only when whatever it saw is as durable: where there is a synchronous standby, that means there as well.

A transaction that the server ended because this process stood still in the middle of it is not run again
(`frozen_clients`).
"""

import contextlib
import copy
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from holdfast.core import HoldfastError
from holdfast.store.engine import Damage, DecidedBodies, RecordedEvent, Row, Tx
from holdfast.store.postgres import frozen_clients
from holdfast.store.postgres.connection import (
    ERRORS,
    OUT_OF_STEP,
    dollars,
    explain,
    lock_number,
    together,
    was_refused,
)
from holdfast.store.postgres.server import Connection
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

LOCK = "SELECT pg_advisory_xact_lock(k) FROM unnest(?1::bigint[]) AS k"
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(?1)"
CANCEL_SECONDS = 2.0
WAIT_FOR_STANDBY = """
    SELECT pg_logical_emit_message(true, 'holdfast', '')
    WHERE current_setting('synchronous_standby_names') <> '' AND pg_current_xact_id_if_assigned() IS NULL"""
"""Makes a transaction that changes nothing one whose commit waits for the standby."""
ABOUT_NUMBERS = ("varsup.c", "multixact.c")
"""Where the server's warnings come from that its transaction ids run out: they are not about this commit."""
NOW = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"


class PostgresTx:
    """One transaction on one connection."""

    __slots__ = ("_connection", "_heard", "changed", "decided", "recorded", "rerun", "silence")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._heard = time.monotonic()
        self.rerun = False
        self.changed = False
        self.decided: DecidedBodies = {}
        self.recorded: list[RecordedEvent] = []
        self.silence = 0.0
        """The longest time, in seconds, that we let the server wait for the next call."""

    @property
    def history(self) -> str:
        """The history of transaction ids that it sees."""
        return self._connection.history

    def one(self, sql: str, *args: Any) -> Row | None:
        self.speak()
        row = self._connection.execute(dollars(sql), args, binary=True).fetchone()
        self._heard = time.monotonic()
        return row

    def all(self, sql: str, *args: Any) -> list[Row]:
        self.speak()
        rows = self._connection.execute(dollars(sql), args, binary=True).fetchall()
        self._heard = time.monotonic()
        return rows

    def run(self, sql: str, *args: Any) -> None:
        self.changed = True
        self.speak()
        self._connection.execute(dollars(sql), args)
        self._heard = time.monotonic()

    def run_together(self, *changes: tuple[str, Sequence[Any]]) -> None:
        """One statement that makes all the changes."""
        self.changed = True
        self.speak()
        sql = together(tuple((sql, len(args)) for sql, args in changes))
        self._connection.execute(sql, [value for _, args in changes for value in args])
        self._heard = time.monotonic()

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self.changed = True
        self.speak()
        with self._connection.cursor() as cursor:
            cursor.executemany(dollars(sql), rows)
        self._heard = time.monotonic()

    def speak(self) -> None:
        """Note how long the server has waited for this call."""
        self.silence = max(self.silence, time.monotonic() - self._heard)

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


class WarnedCommit(psycopg.OperationalError):
    """The server committed, and warned."""


class PostgresWriter:
    """A lane's connection."""

    errors = ERRORS

    def __init__(
        self,
        connect: Callable[[], Connection],
        refusal: Callable[[], HoldfastError | None],
        tuning: StoreTuning = DEFAULT_TUNING,
    ) -> None:
        self._connect = connect
        self._refusal = refusal
        self._tuning = tuning
        self._warnings: list[str] = []
        self._made: Connection | None = None
        self._tx: PostgresTx
        self._pipeline: contextlib.AbstractContextManager[Any] | None = None

    @property
    def _connection(self) -> Connection:
        """The one there is, or a new one."""
        return self._made or self._make()

    @property
    def history(self) -> str:
        """The history that what it commits belongs to."""
        return self._connection.history

    def begin(self, locks: Sequence[str], *, cautious: bool, makes_room: bool) -> Tx:
        """Open a transaction and take the advisory locks, in one order for everybody, before anything is read.

        The engine's refusal, if it has one: then nothing is written any more.
        """
        connection = self._connection
        refusal = self._refusal()
        if refusal is not None:
            raise copy.copy(refusal)
        if connection.info.transaction_status != TransactionStatus.IDLE:
            raise psycopg.OperationalError("the connection was left in the middle of something")
        if not cautious:
            self._pipeline = connection.pipeline()
            self._pipeline.__enter__()
        self._warnings.clear()
        self._tx = PostgresTx(connection)
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        if locks:
            connection.execute(dollars(LOCK), (sorted({lock_number(name) for name in locks}),))
        return self._tx

    def savepoint(self) -> None:
        self._connection.execute("SAVEPOINT w")

    def release(self) -> None:
        self._connection.execute("RELEASE SAVEPOINT w")

    def undo(self) -> None:
        self._connection.execute("ROLLBACK TO SAVEPOINT w")
        self._connection.execute("RELEASE SAVEPOINT w")

    def commit(self) -> None:
        """Return once the server says that it is durable."""
        self._tx.speak()
        self._connection.execute(WAIT_FOR_STANDBY)
        done = self._connection.execute("COMMIT")
        self._leave_pipeline()
        if done.statusmessage != "COMMIT":
            raise psycopg.InternalError(f"the server answered {done.statusmessage} to COMMIT")
        if self._warnings:
            raise WarnedCommit("; ".join(self._warnings))

    def rollback(self) -> None:
        """Take back everything since `begin`; an aborted pipeline swallows ROLLBACK, so leave it first."""
        with contextlib.suppress(psycopg.Error):
            self._leave_pipeline()
        with contextlib.suppress(psycopg.Error):
            if self._made is not None and self._made.info.transaction_status != TransactionStatus.IDLE:
                self._made.execute("ROLLBACK")

    def damage(self, error: Exception, *, committing: bool) -> Damage:
        """A lost connection leaves a commit's outcome unknown; what the server itself refused, it rolled back."""
        if isinstance(error, WarnedCommit):
            return Damage.UNSURE
        if self._made is None:
            return Damage.DISCONNECTED
        if self._made.closed or self._made.broken or not was_refused(error):
            return Damage.FROZEN if self._tx.silence > self._tuning.frozen_seconds else Damage.DISCONNECTED
        if isinstance(error, psycopg.errors.LockNotAvailable) and self._has_ended_frozen():
            return Damage.FREED
        return Damage.NONE

    def explain(self, error: Exception) -> HoldfastError:
        return explain(error, self._tuning)

    def reconnect(self) -> None:
        with contextlib.suppress(psycopg.Error):
            self._leave_pipeline()
        self.close()
        self._made = None
        self._make()

    def rest(self, *, idle: bool) -> None:
        """The server looks after itself."""

    def close(self) -> None:
        if self._made is not None:
            self._made.close()

    def _make(self) -> Connection:
        connection = self._connect()
        connection.add_notice_handler(self._note)
        self._made, self._tx = connection, PostgresTx(connection)
        return connection

    def _has_ended_frozen(self) -> bool:
        """End those who stand still and keep the locks of others; whether there were any."""
        self.rollback()
        with contextlib.suppress(psycopg.Error):
            return bool(frozen_clients.end_frozen(PostgresTx(self._connection), self._tuning))
        return False

    def _note(self, notice: psycopg.errors.Diagnostic) -> None:
        """Keep a warning; in a pipeline nobody can tell whose it is, so it counts for the commit."""
        if notice.severity_nonlocalized == "WARNING" and notice.source_file not in ABOUT_NUMBERS:
            self._warnings.append(notice.message_primary or "a warning without words")

    def _leave_pipeline(self) -> None:
        if self._pipeline is not None:
            pipeline, self._pipeline = self._pipeline, None
            pipeline.__exit__(None, None, None)


class ReadTx(PostgresTx):
    """A transaction that reads: it ends when its time is up, or nobody waits for it, at the next statement or within.

    The server knows only how long a statement may take. It is told again what is left once that is a second less.
    """

    __slots__ = ("_deadline", "_gone", "_told")

    def __init__(self, connection: Connection, gone: Callable[[], bool], seconds: float) -> None:
        super().__init__(connection)
        self._deadline = time.monotonic() + seconds
        self._gone = gone
        self._told = seconds

    def one(self, sql: str, *args: Any) -> Row | None:
        self._go_on()
        return super().one(sql, *args)

    def all(self, sql: str, *args: Any) -> list[Row]:
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
    """A reading connection."""

    errors = ERRORS

    def __init__(self, connect: Callable[[], Connection], tuning: StoreTuning = DEFAULT_TUNING) -> None:
        self._connect = connect
        self._tuning = tuning
        self._connection: Connection | None = None
        self._interrupted = False

    def snapshot(self, fn: Callable[[Tx], Any], gone: Callable[[], bool]) -> Any:
        self._settle()
        connection = self._connection
        if connection is None or connection.closed:
            connection = self._connection = self._connect()
        try:
            return _attempt(connection, fn, gone, self._tuning.read_seconds)
        except psycopg.Error as error:
            if error.sqlstate in OUT_OF_STEP:
                connection.close()
            if not connection.closed or gone():
                raise
            connection = self._connection = self._connect()
            return _attempt(connection, fn, gone, self._tuning.read_seconds)

    def interrupt(self) -> None:
        """Ask the server to end the statement that runs."""
        self._interrupted = True
        connection = self._connection
        if connection is not None:
            with contextlib.suppress(psycopg.Error):  # what cannot be ended so is ended by its time
                connection.cancel_safe(timeout=CANCEL_SECONDS)

    def explain(self, error: Exception) -> HoldfastError:
        return explain(error, self._tuning)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _settle(self) -> None:
        """Let the server's answer to an interrupt that came late meet a statement of nobody's."""
        if self._interrupted:
            self._interrupted = False
            if self._connection is not None:
                with contextlib.suppress(psycopg.Error):
                    self._connection.execute("SELECT 1")


def _attempt(connection: Connection, fn: Callable[[Tx], Any], gone: Callable[[], bool], seconds: float) -> Any:
    try:
        with connection.pipeline():
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            result = fn(ReadTx(connection, gone, seconds))
            connection.execute("COMMIT")
            return result
    finally:
        _leave(connection)


def _leave(connection: Connection) -> None:
    """End a transaction that was not committed; the next reader never finds it, also if an interrupt that came late has
    met the end of it."""
    if connection.closed or connection.info.transaction_status == TransactionStatus.IDLE:
        return
    try:
        connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()
