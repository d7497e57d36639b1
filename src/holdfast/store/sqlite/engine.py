"""A SQLite file as an Engine.

The file is opened through SQLite only, never with a plain `open`: closing any other descriptor of it would drop
this process's locks. The lane's connection is the only one that writes and the only one that checkpoints. If the
write-ahead log under it is ever replaced, the store stops acknowledging instead of writing into a lost file.
"""

import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw

from holdfast.core import Clock, HoldfastError
from holdfast.core.errors import Busy, Corrupt, SchemaUnknown, StorageFull, StoreFailed, StoreUnavailable
from holdfast.store.engine import Damage, FeedOrder, Reader, Recorded, Row, Tx, Writer
from holdfast.store.migrations import migrate, newest, read_only_meta
from holdfast.store.sqlite.gate import check_engine, linked_version

APPLICATION_ID = 0x486F6C64  # "Hold"
BUSY_MS = 10_000
PAGE = 4096
CHECKPOINT_PAGES = 1_000
CHECKPOINT_PAGES_IDLE = 250
TRUNCATE_PAGES = 16_384
READ_SECONDS = 5.0

ERRORS: tuple[type[Exception], ...] = (apsw.Error, OverflowError)


class SqliteTx:
    """One transaction on one connection."""

    __slots__ = ("_clock", "_execute", "_executemany", "changed", "recorded", "rerun")

    def __init__(self, connection: apsw.Connection, clock: Clock) -> None:
        cursor = connection.cursor()
        self._execute = cursor.execute
        self._executemany = cursor.executemany
        self._clock = clock
        self.rerun = False
        self.changed = False
        self.recorded: list[Recorded] = []

    def one(self, sql: str, *args: Any) -> Row | None:
        """The first row, or None."""
        rows: list[Row] = self._execute(sql, args).fetchall()  # to its end: an open statement keeps its snapshot
        return rows[0] if rows else None

    def all(self, sql: str, *args: Any) -> list[Row]:
        """Every row."""
        rows: list[Row] = self._execute(sql, args).fetchall()
        return rows

    def run(self, sql: str, *args: Any) -> None:
        """Change rows; nothing comes back."""
        self.changed = True
        self._execute(sql, args)

    def run_together(self, *changes: tuple[str, Sequence[Any]]) -> None:
        """One after the other: there is no trip to save."""
        self.changed = True
        for sql, args in changes:
            self._execute(sql, args)

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The same statement for each row of arguments."""
        self.changed = True
        self._executemany(sql, rows)

    def now(self) -> int:
        """The injected clock: one machine, one clock."""
        return self._clock.now()


class SqliteWriter:
    """The lane's connection."""

    errors = ERRORS

    def __init__(self, connection: apsw.Connection, path: Path, clock: Clock) -> None:
        self._connection = connection
        self._wal = f"{path}-wal"
        self._wal_inode: int | None = None
        self._wal_pages = 0
        self._tx = SqliteTx(connection, clock)
        self._run = connection.cursor().execute
        connection.set_wal_hook(self._note_wal)

    def begin(self, locks: Sequence[str], *, cautious: bool) -> Tx:
        """BEGIN IMMEDIATE: the whole file is the lock, whatever the names."""
        self._run("BEGIN IMMEDIATE")
        return self._tx

    def savepoint(self) -> None:
        """Mark the place that `undo` returns to."""
        self._run("SAVEPOINT w")

    def release(self) -> None:
        """Keep what was done since the savepoint."""
        self._run("RELEASE w")

    def undo(self) -> None:
        """Take back what was done since the savepoint."""
        self._run("ROLLBACK TO w")
        self._run("RELEASE w")

    def commit(self) -> None:
        """Return once the write-ahead log is synced and still the one that others see."""
        self._run("COMMIT")
        inode = self._inode()
        if inode != self._wal_inode:
            if self._wal_inode is not None:
                raise apsw.IOError("the write-ahead log was replaced under the store")
            self._wal_inode = inode

    def rollback(self) -> None:
        """Take back everything since `begin`."""
        if self._connection.in_transaction:
            self._run("ROLLBACK")

    def damage(self, error: Exception, *, committing: bool) -> Damage:
        """An I/O error while committing is fatal: what the kernel kept is unknown."""
        return Damage.FATAL if committing and isinstance(error, apsw.IOError) else Damage.NONE

    def explain(self, error: Exception) -> HoldfastError:
        """The error as a caller should see it."""
        return explain(error)

    def reconnect(self) -> None:
        """A file has no connection to lose."""

    def rest(self, *, idle: bool) -> None:
        """Move the log into the file often: a log that starts again overwrites, one that grows is slow to sync."""
        if self._wal_pages < (CHECKPOINT_PAGES_IDLE if idle else CHECKPOINT_PAGES):
            return
        how = apsw.SQLITE_CHECKPOINT_TRUNCATE if self._wal_pages > TRUNCATE_PAGES else apsw.SQLITE_CHECKPOINT_PASSIVE
        try:
            self._connection.set_busy_timeout(0)
            left, moved = self._connection.wal_checkpoint(mode=how)
            self._wal_pages = max(left - moved, 0)
        except (apsw.BusyError, apsw.LockedError, apsw.FullError):
            pass  # a reader is in the way, or there is no room: the log stays, and the next rest tries again
        finally:
            self._connection.set_busy_timeout(BUSY_MS)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _note_wal(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def _inode(self) -> int:
        try:
            return os.stat(self._wal).st_ino  # noqa: PTH116 - once per commit, and a Path costs three times as much
        except FileNotFoundError:
            return -1


class SqliteReader:
    """A reading connection; a read that lasts longer than five seconds is ended."""

    errors = ERRORS

    def __init__(self, connection: apsw.Connection, clock: Clock) -> None:
        self._connection = connection
        self._tx = SqliteTx(connection, clock)
        self._run = connection.cursor().execute
        self._deadline = 0.0
        connection.set_progress_handler(self._overdue, 50_000)

    def snapshot(self, fn: Callable[[Tx], Any]) -> Any:
        """Run `fn` over one consistent, read-only view of the store."""
        self._deadline = time.monotonic() + READ_SECONDS
        self._run("BEGIN")
        try:
            return fn(self._tx)
        finally:
            if self._connection.in_transaction:
                self._run("ROLLBACK")

    def explain(self, error: Exception) -> HoldfastError:
        """The error as a caller should see it."""
        return explain(error)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _overdue(self) -> bool:
        return time.monotonic() > self._deadline


class SqliteEngine:
    """One SQLite file, open and migrated."""

    name = "sqlite"
    lanes = 1
    readers = 2
    feed_order = FeedOrder(cursor="0, e.pos", after="?1 = 0 AND e.pos > ?2", order="e.pos")
    feed_end_sql = "SELECT 0, coalesce(max(pos), 0) FROM transcript_events"

    def __init__(self, path: Path, clock: Clock, *, read_only: bool = False) -> None:
        self.version = check_engine(linked_version())
        self.path = path
        self.url = f"sqlite:///{path}"
        self._clock = clock
        self._read_only = read_only
        if path.is_dir():
            raise StoreUnavailable(f"{path} is a folder", hint="name a file, for example sqlite:///holdfast.db")
        try:
            if read_only:
                self._writer = None
                connection = self._connect()
                self.store_id = read_only_meta(SqliteTx(connection, clock), "sqlite")
                connection.close()
            else:
                create_private(path)
                connection = self._connect()
                self.store_id = self._prepare(connection)
                self._writer = SqliteWriter(connection, path, clock)
        except apsw.Error as error:
            raise explain(error) from error

    def writer(self) -> Writer:
        """The one writing connection."""
        if self._writer is None:
            raise StoreUnavailable("the store was opened read-only")
        return self._writer

    def reader(self) -> Reader:
        """A new connection for reads."""
        return SqliteReader(self._connect(query_only=True), self._clock)

    def announce(self) -> None:
        """Other processes look by themselves once a second."""

    def listen(self, heard: Callable[[], None]) -> None:
        """Nobody announces."""

    def check(self) -> list[str]:
        """What SQLite's own integrity check finds."""
        connection = self._connect(query_only=True)
        try:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
        except apsw.Error as error:
            return [str(error)]
        finally:
            connection.close()
        return [] if found == ["ok"] else found

    def figures(self) -> dict[str, Any]:
        """Sizes for status pages."""
        wal = Path(f"{self.path}-wal")
        return {
            "path": str(self.path),
            "sizeBytes": self.path.stat().st_size,
            "walSizeBytes": wal.stat().st_size if wal.exists() else 0,
        }

    def close(self) -> None:
        """The writer and readers closed the file already."""

    def _connect(self, *, query_only: bool = False) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READONLY if self._read_only else apsw.SQLITE_OPEN_READWRITE
        connection = apsw.Connection(str(self.path), flags=flags)
        connection.set_busy_timeout(BUSY_MS)
        connection.execute("PRAGMA mmap_size=0")
        connection.execute("PRAGMA foreign_keys=ON")
        if query_only:
            connection.execute("PRAGMA query_only=ON")
        return connection

    def _prepare(self, connection: apsw.Connection) -> str:
        found = connection.pragma("application_id")
        if found not in (0, APPLICATION_ID):
            raise SchemaUnknown(f"{self.path} is another program's database (application_id {found:#x})")
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()[0][0]
        if found == 0 and tables:
            raise SchemaUnknown(f"{self.path} is a database, but not one of ours")
        mode = connection.pragma("journal_mode", "wal")
        if mode != "wal":
            raise StoreUnavailable(f"{self.path} cannot use a write-ahead log here (journal mode {mode})")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        connection.execute(f"PRAGMA journal_size_limit={TRUNCATE_PAGES * PAGE}")
        tx = SqliteTx(connection, self._clock)
        connection.execute("BEGIN IMMEDIATE")
        try:
            store_id = migrate(tx, "sqlite")
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", newest("sqlite"))
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        return store_id


def create_private(path: Path) -> None:
    """Make the file, readable by its owner only, unless it exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, stat.S_IRUSR | stat.S_IWUSR)
    except FileExistsError:
        return
    except OSError as error:
        raise StoreUnavailable(f"cannot create {path}: {error.strerror}") from error
    os.close(descriptor)


def explain(error: Exception) -> HoldfastError:
    """A SQLite error as a caller should see it."""
    text = str(error)
    match error:
        case apsw.FullError():
            return StorageFull(f"the disk that holds the store is full ({text})")
        case apsw.BusyError() | apsw.LockedError():
            return Busy(f"another process kept the database locked for {BUSY_MS // 1000} s", retry_after=1)
        case apsw.CorruptError() | apsw.NotADBError():
            return Corrupt(f"the database file is damaged: {text}")
        case apsw.InterruptError():
            return StoreUnavailable(f"a read was ended after {READ_SECONDS:.0f} s", hint="ask for less at a time")
        case apsw.CantOpenError() | apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StoreUnavailable(f"the database file cannot be opened or written: {text}")
        case _:
            return StoreFailed(f"the database refused: {text}")
