"""A SQLite file as an Engine.

The file is opened through SQLite only, never with a plain `open`: closing any other descriptor of it would drop
this process's locks. The lane's connection is the only one that writes and the only one that checkpoints. If the
file or the write-ahead log under it is ever replaced, the store stops acknowledging instead of writing into a lost
file.
"""

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from holdfast.core import Clock
from holdfast.core.errors import SchemaUnknown, StoreUnavailable
from holdfast.store.engine import FeedOrder, Reader, Seen, Writer
from holdfast.store.lanes.chores import Chore
from holdfast.store.lock import Claim
from holdfast.store.migrations import migrate, newest, read_only_meta
from holdfast.store.sqlite import backup, space
from holdfast.store.sqlite.backup import APPLICATION_ID
from holdfast.store.sqlite.data_version import DataVersion
from holdfast.store.sqlite.database_file import DatabaseFile, refuse_log_alone
from holdfast.store.sqlite.disk_reserve import RESERVE_BYTES, Reserve, Room
from holdfast.store.sqlite.engine_version import check_engine, linked_version
from holdfast.store.sqlite.log import CHECKPOINT_PAGES, PAGE, TRUNCATE_PAGES, WAL_LIMIT_PAGES, WriteAheadLog
from holdfast.store.sqlite.mounts import check_file_system
from holdfast.store.sqlite.owner import Owner
from holdfast.store.sqlite.text import TEXT
from holdfast.store.sqlite.transaction import BUSY_MS, SqliteReader, SqliteTx, explain
from holdfast.store.sqlite.writer import SqliteWriter


class SqliteEngine:
    """One SQLite file, open and migrated."""

    name = "sqlite"
    lanes = 1
    feed_order = FeedOrder(
        cursor="0, e.pos",
        after="?1 = 0 AND e.pos > ?2",
        order="e.pos",
        end="SELECT 0, max(pos) FROM transcript_events HAVING max(pos) > 0",
        ahead="SELECT ?1 <> 0 OR ?2 > coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'transcript_events'), 0)",
        heads=None,
    )
    moment_sql: str | None = None
    text = TEXT
    chores: tuple[Chore, ...] = (space.give_back,)

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        read_only: bool = False,
        claim: Claim | None = None,
        reserve_bytes: int = RESERVE_BYTES,
        wal_limit_pages: int = WAL_LIMIT_PAGES,
    ) -> None:
        self.version = check_engine(linked_version())
        self.path = path
        self.url = f"sqlite:///{path}"
        self._clock = clock
        self._owner = None if claim is None else Owner(path, claim, clock)
        self._room: Room | None = None
        self._writer: SqliteWriter | None = None
        self._data_version = DataVersion(lambda: self._connect(query_only=True))
        self._file: DatabaseFile | None = None
        check_file_system(path)
        if path.is_dir():
            raise StoreUnavailable(f"{path} is a folder", hint="name a file, for example sqlite:///holdfast.db")
        self._flags = _reading_flags(path) if read_only else apsw.SQLITE_OPEN_READWRITE
        try:
            refuse_log_alone(path)
            self._ask_owner(read_only=read_only)
            if read_only:
                self._file = DatabaseFile(path)
                connection = self._connect(query_only=True)
                self.store_id = read_only_meta(SqliteTx(connection, clock), "sqlite")
                connection.close()
            else:
                self._open_for_writing(Reserve(path, reserve_bytes), wal_limit_pages)
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

    def moment(self) -> str | None:
        """The version of the file, which every commit changes."""
        return self._data_version.now()

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

    def copy_to(self, path: Path, told: Callable[[int, int], None]) -> None:
        """Copy the store, as it is at one moment, to a new file."""
        try:
            with contextlib.closing(self._connect(query_only=True)) as source:
                backup.copy(source, path, told)
        except apsw.Error as error:
            raise explain(error) from error

    def seen(self) -> Seen | None:
        """A file has no server."""
        return None

    def figures(self) -> dict[str, Any]:
        """Sizes for status pages."""
        wal = Path(f"{os.path.realpath(self.path)}-wal")
        try:
            connection = self._connect(query_only=True)
            try:
                free = space.free_bytes(connection)
            finally:
                connection.close()
        except apsw.Error as error:
            raise explain(error) from error
        return {
            "path": str(self.path),
            "sizeBytes": self.path.stat().st_size,
            "freeBytes": free,
            "walSizeBytes": wal.stat().st_size if wal.exists() else 0,
            "shortOfRoom": self._room is not None and self._room.short,
        }

    def let_go(self) -> None:
        """A file is not waited for: SQLite's own timeout bounds each wait."""

    def close(self) -> None:
        """The writer and readers closed the file already."""
        self._data_version.close()

    def _open_for_writing(self, reserve: Reserve, wal_limit_pages: int) -> None:
        create_private(self.path)
        self._file = file = DatabaseFile(self.path)
        try:
            connection, self.store_id = self._prepared()
        except (apsw.FullError, apsw.IOError, apsw.CantOpenError):
            if not reserve.release():
                raise
            connection, self.store_id = self._prepared()  # a full disk: opening takes a little room, too
        often = min(CHECKPOINT_PAGES, reserve.size // (2 * PAGE))
        wal = WriteAheadLog(connection, file, often=often, limit=wal_limit_pages)
        self._room = Room(connection, wal, reserve)
        self._writer = SqliteWriter(connection, wal, self._room, self._clock, self._owner)
        try:
            self._writer.take_over()
        except BaseException:
            connection.close()
            raise

    def _ask_owner(self, *, read_only: bool) -> None:
        """Wait for our turn if we are to serve the store; StoreInUse if somebody does."""
        if self._owner is not None and self.path.exists():
            ask = self._owner.refuse_living if read_only else self._owner.await_turn
            ask(lambda: self._connect(query_only=True))

    def _connect(self, *, query_only: bool = False) -> apsw.Connection:
        connection = apsw.Connection(str(self.path), flags=self._flags)
        if self._file is not None:
            self._file.check_same()
        connection.set_busy_timeout(BUSY_MS)
        connection.execute("PRAGMA mmap_size=0")
        connection.execute("PRAGMA foreign_keys=ON")
        if query_only:
            connection.execute("PRAGMA query_only=ON")
        return connection

    def _prepared(self) -> tuple[apsw.Connection, str]:
        """A connection that writes, its schema up to date, and the store's id."""
        connection = self._connect()
        try:
            return connection, self._prepare(connection)
        except BaseException:
            connection.close()
            raise

    def _prepare(self, connection: apsw.Connection) -> str:
        found = connection.pragma("application_id")
        if found not in (0, APPLICATION_ID):
            raise SchemaUnknown(f"{self.path} is another program's database (application_id {found:#x})")
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()[0][0]
        if found == 0 and tables:
            raise SchemaUnknown(f"{self.path} is a database, but not one of ours")
        if not tables:
            connection.execute(space.PREPARE)  # before anything is in the file, the log's mark included
        mode = connection.pragma("journal_mode", "wal")
        if mode != "wal":
            raise StoreUnavailable(f"{self.path} cannot use a write-ahead log here (journal mode {mode})")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        connection.execute("PRAGMA secure_delete=ON")  # what was erased is not left in free pages
        connection.execute(f"PRAGMA journal_size_limit={TRUNCATE_PAGES * PAGE}")
        tx = SqliteTx(connection, self._clock)
        connection.execute("BEGIN IMMEDIATE")
        try:
            store_id = migrate(tx, "sqlite")
            if tx.changed:  # else write nothing: there may be no room, and it must open all the same
                connection.pragma("application_id", APPLICATION_ID)
                connection.pragma("user_version", newest("sqlite"))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return store_id


def _reading_flags(path: Path) -> int:
    """How to open a store that is only read.

    A connection that may not write cannot remove the log files it had to make. After a clean close there is no log:
    then one that may write, but is told to change nothing (`query_only`), leaves the folder as it was.
    """
    there = Path(f"{os.path.realpath(path)}-wal").exists()
    return apsw.SQLITE_OPEN_READONLY if there else apsw.SQLITE_OPEN_READWRITE


def has_sessions(path: Path) -> bool:
    """Whether there is a session in the file; True if that cannot be told."""
    try:
        with contextlib.closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            if not connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'sessions'").get:
                return False
            return bool(connection.execute("SELECT count(*) FROM sessions").get)
    except apsw.Error:
        return True


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
