"""A SQLite file as an Engine.

The file is opened through SQLite only, never with a plain `open`: closing any other descriptor of it would drop
this process's locks. The lane's connection is the only one that writes and the only one that checkpoints. If the
file or the write-ahead log under it is ever replaced, the store stops acknowledging instead of writing into a lost
file. Whoever only reads changes nothing at all: see `read_only`.
"""

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import apsw

from holdfast.core import Clock
from holdfast.core.errors import ReadTimeout, SchemaUnknown, StoreUnavailable
from holdfast.core.store_file import Claim
from holdfast.store.engine import FeedOrder, Reader, Seen, Writer
from holdfast.store.lanes.chores import Chore, chore_of
from holdfast.store.migrations import migrate, newest, read_only_meta
from holdfast.store.sqlite import backup, space
from holdfast.store.sqlite.backup import APPLICATION_ID
from holdfast.store.sqlite.data_version import DataVersion
from holdfast.store.sqlite.database_file import DatabaseFile, refuse_log_alone
from holdfast.store.sqlite.disk_reserve import RESERVE_BYTES, Reserve, Room
from holdfast.store.sqlite.engine_version import check_engine, linked_version
from holdfast.store.sqlite.log import CHECKPOINT_PAGES, PAGE, TRUNCATE_PAGES, WAL_LIMIT_PAGES, WriteAheadLog
from holdfast.store.sqlite.mounts import MOUNTINFO, check_file_system
from holdfast.store.sqlite.owner import Owner
from holdfast.store.sqlite.read_only import ReadOnlyFile, ReadOnlyReader
from holdfast.store.sqlite.text import TEXT
from holdfast.store.sqlite.transaction import BUSY_MS, SqliteReader, SqliteTx, explain
from holdfast.store.sqlite.writer import SqliteWriter
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning


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

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        read_only: bool = False,
        claim: Claim | None = None,
        reserve_bytes: int = RESERVE_BYTES,
        wal_limit_pages: int = WAL_LIMIT_PAGES,
        mountinfo: Path = MOUNTINFO,
        tuning: StoreTuning = DEFAULT_TUNING,
    ) -> None:
        self.version = check_engine(linked_version())
        self.path = path
        self.url = f"sqlite:///{path}"
        self.chores: tuple[Chore, ...] = (chore_of(space.give_back, tuning),)
        self._clock = clock
        self._tuning = tuning
        self._owner = None if claim is None else Owner(path, claim, clock, tuning)
        self._room: Room | None = None
        self._writer: SqliteWriter | None = None
        self._data_version = DataVersion(lambda: self._connect(query_only=True))
        self._file: DatabaseFile | None = None
        self._only_read: ReadOnlyFile | None = None
        self._looks = count()
        check_file_system(path, mountinfo)
        if path.exists() and not path.is_file():  # a pipe would be waited for, for ever
            kind = "a folder" if path.is_dir() else "no plain file"
            raise StoreUnavailable(f"{path} is {kind}", hint="name a file, for example sqlite:///holdfast.db")
        try:
            refuse_log_alone(path)
            if read_only:
                self._open_for_reading()
            else:
                if self._owner is not None and path.exists():
                    self._owner.await_turn(lambda: self._connect(query_only=True))
                self._open_for_writing(Reserve(path, reserve_bytes), wal_limit_pages)
        except apsw.Error as error:
            raise explain(error) from error

    def writer(self) -> Writer:
        """The one writing connection."""
        if self._writer is None:
            raise StoreUnavailable("the store was opened read-only")
        return self._writer

    def reader(self) -> Reader:
        if self._only_read is not None:
            return ReadOnlyReader(self._only_read, self._clock, self._tuning)
        return SqliteReader(self._connect(query_only=True), self._clock, self._tuning)

    def moment(self) -> str | None:
        """The version of the file, which every commit changes; for those who only read, one that never comes again."""
        return self._data_version.now() if self._only_read is None else f"look {next(self._looks)}"

    def announce(self) -> None:
        """Other processes look by themselves once a second."""

    def listen(self, heard: Callable[[], None]) -> None:
        """Nobody announces."""

    def check(self, within: float | None = None) -> list[str]:
        """What SQLite's own check finds: of all that there is, or without the indexes if it must end in time."""
        try:
            with self._reading() as connection:
                if within is not None:
                    end = time.monotonic() + within
                    connection.set_progress_handler(lambda: time.monotonic() > end, 50_000)
                pragma = "integrity_check" if within is None else "quick_check"
                found = [str(row[0]) for row in connection.execute(f"PRAGMA {pragma}(20)")]
        except apsw.InterruptError as error:
            raise ReadTimeout(f"the file was not checked within {within} s") from error
        except apsw.Error as error:
            return [str(error)]
        return [] if found == ["ok"] else found

    def copy_to(self, path: Path, told: Callable[[int, int], None]) -> None:
        """Copy the store, as it is at one moment, to a new file."""
        try:
            with self._reading() as source:
                backup.copy(source, path, told, self._tuning)
        except apsw.Error as error:
            raise explain(error) from error

    def seen(self) -> Seen | None:
        """A file has no server."""
        return None

    def figures(self) -> dict[str, Any]:
        wal = Path(f"{os.path.realpath(self.path)}-wal")
        try:
            with self._reading() as connection:
                free = space.free_bytes(connection)
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
        if self._only_read is not None:
            self._only_read.close()

    def _open_for_reading(self) -> None:
        if not self.path.exists():
            raise StoreUnavailable(f"there is no database at {self.path}")
        if not os.access(self.path, os.R_OK, effective_ids=True):
            raise StoreUnavailable(f"this user may not read {self.path}", hint="look at it as its owner, or as root")
        self._only_read = only_read = ReadOnlyFile(self.path)
        try:
            if self._owner is not None:
                self._owner.refuse_living(lambda: only_read.open().connection)
            with only_read.reading() as connection:
                self._refuse_foreign(connection)
                self.store_id = read_only_meta(SqliteTx(connection, self._clock), "sqlite")
        except BaseException:
            only_read.close()
            raise

    @contextlib.contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        """A connection for one look."""
        if self._only_read is not None:
            with self._only_read.reading() as connection:
                yield connection
        else:
            with contextlib.closing(self._connect(query_only=True)) as connection:
                yield connection

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

    def _connect(self, *, query_only: bool = False) -> apsw.Connection:
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
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

    def _refuse_foreign(self, connection: apsw.Connection) -> bool:
        """Whether there is anything in it; SchemaUnknown if that is another program's."""
        found = connection.pragma("application_id")
        tables: Any = connection.execute("SELECT count(*) FROM sqlite_schema").get
        if found not in (0, APPLICATION_ID) or (found == 0 and tables):
            whose = "no application_id" if found == 0 else f"application_id {found:#x}"
            raise SchemaUnknown(
                f"{self.path} is another program's database ({whose})",
                hint="name another file: this one is left as it is",
                foreign=True,
            )
        return bool(tables)

    def _prepare(self, connection: apsw.Connection) -> str:
        if not self._refuse_foreign(connection):
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
