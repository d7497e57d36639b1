"""Reading and changing rows through one SQLite connection, and its errors in our words."""

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apsw

from holdfast.core import Clock, HoldfastError
from holdfast.core.errors import Busy, Corrupt, ReadTimeout, StorageFull, StoreFailed, StoreUnavailable
from holdfast.store.engine import DecidedBodies, RecordedEvent, Row, Tx
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

BUSY_MS = 10_000

ERRORS: tuple[type[Exception], ...] = (apsw.Error, OverflowError, UnicodeDecodeError)


class SqliteTx:
    """One transaction on one connection."""

    __slots__ = ("_clock", "_execute", "_executemany", "changed", "decided", "recorded", "rerun", "traces")

    history = ""  # a file has one

    def __init__(self, connection: apsw.Connection, clock: Clock) -> None:
        cursor = connection.cursor()
        self._execute = cursor.execute
        self._executemany = cursor.executemany
        self._clock = clock
        self.rerun = False
        self.changed = False
        self.decided: DecidedBodies = {}
        self.traces = False
        self.recorded: list[RecordedEvent] = []

    def one(self, sql: str, *args: Any) -> Row | None:
        rows: list[Row] = self._execute(sql, args).fetchall()  # to its end: an open statement keeps its snapshot
        return rows[0] if rows else None

    def all(self, sql: str, *args: Any) -> list[Row]:
        rows: list[Row] = self._execute(sql, args).fetchall()
        return rows

    def run(self, sql: str, *args: Any) -> None:
        self.changed = True
        self._execute(sql, args)

    def run_together(self, *changes: tuple[str, Sequence[Any]]) -> None:
        """One after the other: there is no trip to save."""
        self.changed = True
        for sql, args in changes:
            self._execute(sql, args)

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self.changed = True
        self._executemany(sql, rows)

    def now(self) -> int:
        """The injected clock: one machine, one clock."""
        return self._clock.now()

    def leave_no_trace(self) -> None:
        """Freed pages are overwritten (`secure_delete`); the log that still has them is emptied at the next rest."""
        self.traces = True

    def lock(self, name: str) -> None:
        """The whole file is locked already."""

    def try_lock(self, name: str) -> bool:
        """The whole file is locked already."""
        return True


class SqliteReader:
    """A reading connection; a read that lasts too long is ended, so that the log can be emptied.

    It ends within a long statement or at the next one, and so does one that nobody waits for any more. Code that goes
    on without asking the database anything more cannot be ended; that is why every read of the store takes a page at a
    time.
    """

    errors = ERRORS

    def __init__(self, connection: apsw.Connection, clock: Clock, tuning: StoreTuning = DEFAULT_TUNING) -> None:
        self._connection = connection
        self._tuning = tuning
        self._tx = SqliteTx(connection, clock)
        self._run = connection.cursor().execute
        self._deadline = float("inf")
        self._gone: Callable[[], bool] = _never
        connection.set_progress_handler(self._ended, 50_000)
        connection.set_exec_trace(self._refuse_ended)

    def snapshot(self, fn: Callable[[Tx], Any], gone: Callable[[], bool]) -> Any:
        self._deadline, self._gone = time.monotonic() + self._tuning.read_seconds, gone
        try:
            self._run("BEGIN")
            return fn(self._tx)
        finally:
            self._deadline, self._gone = float("inf"), _never
            while self._connection.in_transaction:
                with contextlib.suppress(apsw.InterruptError):  # it came as the read ended by itself
                    self._run("ROLLBACK")

    def interrupt(self) -> None:
        """End the statement that runs; one that has ended is none, and the next one is not touched."""
        self._connection.interrupt()

    def explain(self, error: Exception) -> HoldfastError:
        return explain(error, self._tuning)

    def close(self) -> None:
        self._connection.close()

    def _ended(self) -> bool:
        return time.monotonic() > self._deadline or self._gone()

    def _refuse_ended(self, _cursor: Any, _sql: str, _bindings: Any) -> bool:
        if self._ended():
            raise apsw.InterruptError("too slow between statements, or nobody waits for it")
        return True


def _never() -> bool:
    return False


def explain(error: Exception, tuning: StoreTuning = DEFAULT_TUNING) -> HoldfastError:
    """A SQLite error as a caller should see it."""
    text = str(error)
    match error:
        case apsw.FullError():
            return StorageFull(f"the disk that holds the store is full ({text})")
        case apsw.BusyError() | apsw.LockedError():
            return Busy(f"another process kept the database locked for {BUSY_MS // 1000} s", retry_after=1)
        case apsw.CorruptError() | apsw.NotADBError() | UnicodeDecodeError():
            return Corrupt(f"the database file is damaged: {text}")
        case apsw.InterruptError():
            return ReadTimeout(f"a read was ended after {tuning.read_seconds:.0f} s")
        case apsw.CantOpenError() | apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreUnavailable(f"the database file cannot be opened or written: {text}")
        case _:
            return StoreFailed(f"the database refused: {text}")
