"""A SQLite store that is only read: nothing beside it is made, changed or removed, whoever writes to it meanwhile.

SQLite by itself makes a log and an index beside a database, also for a connection that may not write. So it is told
to make and remove nothing, and there are three ways to read:

- With a log and an index beside it, by SQLite's own locks, on shared memory that this process may not change. That is
  the way beside a server that runs, and after one that was killed.
- Without a log, as it is and without locks. Nobody writes then. Whoever begins to, is noticed: the read is refused.
- With a log and no index that can be used, as in a copy of what a killed server left, from a private copy, where
  SQLite may make one.

One thing SQLite cannot be kept from: run by root, it gives a log and an index to the owner of the database.
"""

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import apsw

from holdfast.core import Clock, HoldfastError
from holdfast.core.errors import Busy, StorageFull, StoreUnavailable
from holdfast.store.engine import Tx
from holdfast.store.sqlite.database_file import DatabaseFile
from holdfast.store.sqlite.transaction import BUSY_MS, ERRORS, SqliteReader, explain
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

READ = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
MAY_MAKE = apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_READWRITE
BY_LOCKS = "mode=ro&readonly_shm=1"
AS_IT_IS = "immutable=1"
ANYTHING = "SELECT count(*) FROM sqlite_schema"
TRIES = 5
"""How often a store is opened anew, or copied, while somebody else changes its files."""


class FileStamp(NamedTuple):
    """Which file there is at a path, and when it was last changed."""

    inode: int
    size: int
    changed_ns: int


class FileState(NamedTuple):
    """A database and what is beside it, at a moment."""

    database: FileStamp | None
    log: FileStamp | None
    shared: FileStamp | None
    journal: FileStamp | None

    @property
    def has_locks(self) -> bool:
        """Whether SQLite's own locks keep a reader's snapshot as it is."""
        return self.log is not None and self.shared is not None and not _size(self.journal)

    @property
    def is_whole(self) -> bool:
        """Whether the database file has everything that was committed."""
        return not _size(self.log) and not _size(self.journal)

    def is_same(self, other: "FileState") -> bool:
        """Whether nothing was written in between, as far as the database, its log and its journal tell."""
        mine, theirs = (each._replace(shared=None) for each in (self, other))
        return mine == theirs and (self.shared is None) == (other.shared is None)


class OpenDatabase(NamedTuple):
    """A connection that only reads, and what there was when it was opened; None if its own locks look after that."""

    connection: apsw.Connection
    state: FileState | None
    look: Callable[[], FileState]

    def is_current(self) -> bool:
        """Whether what it reads is what there is."""
        return self.state is None or self.state.is_same(self.look())

    def check(self) -> None:
        """Busy if somebody began to write while this was read without locks."""
        if not self.is_current():
            raise Busy("the store was changed while it was read: somebody has begun to write to it", retry_after=1)


class ReadOnlyFile:
    """A store's file, for those who only look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = DatabaseFile(path)
        self._real = os.path.realpath(path)
        self._changing = threading.Lock()
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._copied: FileState | None = None

    def state(self) -> FileState:
        """What there is now."""
        return FileState(*(_stamp(self._real + suffix) for suffix in ("", "-wal", "-shm", "-journal")))

    def open(self) -> OpenDatabase:
        """A new connection, by the way that fits what there is now; Busy if that changes again and again."""
        for _ in range(TRIES):
            state = self.state()
            if state.database is None:
                raise StoreUnavailable(f"there is no database at {self._path}")
            try:
                opened = self._opened(state)
            except apsw.CantOpenError:
                if self.state().is_same(state):
                    raise
                continue  # a server has just stopped, and taken its log away
            try:
                self._file.check_same()
            except apsw.Error:
                opened.connection.close()
                raise
            return opened
        raise Busy(f"somebody opens and closes {self._path} again and again", retry_after=1)

    def _opened(self, state: FileState) -> OpenDatabase:
        opened = self._by_locks() if state.has_locks else None
        if opened is not None:
            return opened
        if state.is_whole and not state.has_locks:
            opened = OpenDatabase(_connect(self._real, AS_IT_IS), state, self.state)
        else:
            copied, place = self._private_copy()
            opened = OpenDatabase(apsw.Connection(place, flags=apsw.SQLITE_OPEN_READWRITE), copied, self.state)
        _set_up(opened.connection)
        return opened

    def _by_locks(self) -> OpenDatabase | None:
        """A connection by SQLite's own locks; None if a process was killed as it changed the index, and only one that
        writes can mend that."""
        connection = _connect(self._real, BY_LOCKS)
        _set_up(connection)
        try:
            connection.execute(ANYTHING)
        except apsw.ReadOnlyError:
            connection.close()
            return None
        except apsw.Error:
            connection.close()
            raise
        return OpenDatabase(connection, None, self.state)

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection for one look; Busy if what it saw was being changed."""
        opened = self.open()
        try:
            yield opened.connection
        except ERRORS:
            opened.check()  # what was half changed looks damaged
            raise
        finally:
            opened.connection.close()
        opened.check()

    def close(self) -> None:
        """Remove the private copy, if one was needed."""
        with self._changing:
            if self._copy is not None:
                self._copy.cleanup()
            self._copy = self._copied = None

    def _private_copy(self) -> tuple[FileState, str]:
        """A copy of the file with its log as they are now, and what they are; kept until they change."""
        with self._changing:
            for _ in range(TRIES):
                state = self.state()
                if self._copy is None or self._copied is None or not self._copied.is_same(state):
                    if self._copy is not None:
                        self._copy.cleanup()  # whoever still reads it has its files open
                    self._copy = _copied(self._real, state)
                    self._copied = state
                if state.is_same(self.state()):
                    return state, str(Path(self._copy.name) / "store.db")
                self._copied = None
        raise Busy("the store is being changed by somebody who keeps no index of its log", retry_after=1)


class ReadOnlyReader:
    """A reading thread's connection to a store that is only read; opened anew when somebody has written to it."""

    errors = ERRORS

    def __init__(self, file: ReadOnlyFile, clock: Clock, tuning: StoreTuning = DEFAULT_TUNING) -> None:
        self._file = file
        self._clock = clock
        self._tuning = tuning
        self._opened: OpenDatabase | None = None
        self._reader: SqliteReader | None = None

    def snapshot(self, fn: Callable[[Tx], Any], gone: Callable[[], bool]) -> Any:
        """Run `fn` over one view of the store; Busy if somebody began to write meanwhile."""
        opened, reader = self._current()
        try:
            result = reader.snapshot(fn, gone)
        except ERRORS:
            opened.check()
            raise
        opened.check()
        return result

    def interrupt(self) -> None:
        """End the statement that runs."""
        if self._reader is not None:
            self._reader.interrupt()

    def explain(self, error: Exception) -> HoldfastError:
        return explain(error, self._tuning)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._opened = self._reader = None

    def _current(self) -> tuple[OpenDatabase, SqliteReader]:
        if self._opened is not None and not self._opened.is_current():
            self.close()
        if self._opened is None or self._reader is None:
            self._opened = self._file.open()
            self._reader = SqliteReader(self._opened.connection, self._clock, self._tuning)
        return self._opened, self._reader


class _NothingMade(apsw.VFS):
    """The files of the system, but for a database's log, which is neither made nor written, and nothing is removed."""

    NAME = "holdfast-read-only"

    def __init__(self) -> None:
        super().__init__(self.NAME, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's own name
        """Open a file; a log that is gone by now is not made again."""
        if flags[0] & (apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL):
            flags[0] = flags[0] & ~MAY_MAKE | apsw.SQLITE_OPEN_READONLY
        return super().xOpen(name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        """Refuse."""
        raise apsw.ReadOnlyError(f"{filename} is only read")


@cache
def _nothing_made() -> _NothingMade:
    """Registered once, for as long as the process lives."""
    return _NothingMade()


def _connect(real: str, how: str) -> apsw.Connection:
    return apsw.Connection(f"file:{quote(real)}?{how}", flags=READ, vfs=_nothing_made().NAME)


def _set_up(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(BUSY_MS)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # not even tried
    connection.execute("PRAGMA mmap_size=0")
    connection.execute("PRAGMA query_only=ON")


def _copied(real: str, state: FileState) -> "tempfile.TemporaryDirectory[str]":
    """A folder that only this user may enter, with a copy of the database, its log and its journal."""
    folder = tempfile.TemporaryDirectory(prefix="holdfast-")
    parts = (("", state.database), ("-wal", state.log), ("-journal", state.journal))
    needed, free = sum(_size(stamp) for _, stamp in parts), shutil.disk_usage(folder.name).free
    if free < needed:
        folder.cleanup()
        raise StorageFull(
            f"{real} has a log that must be read from a copy, which needs {needed:,} bytes; {free:,} are free",
            hint="name a folder with room in TMPDIR",
        )
    try:
        for suffix, stamp in parts:
            if stamp is not None:
                with contextlib.suppress(FileNotFoundError):  # gone by now, which the next look at the state tells
                    shutil.copyfile(real + suffix, Path(folder.name) / f"store.db{suffix}")
    except OSError as error:
        folder.cleanup()
        raise StoreUnavailable(f"{real} cannot be copied to be read: {error.strerror}") from error
    return folder


def _stamp(path: str) -> FileStamp | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - before and after each read, and a Path costs three times as much
    except OSError:
        return None
    return FileStamp(found.st_ino, found.st_size, found.st_mtime_ns)


def _size(stamp: FileStamp | None) -> int:
    return 0 if stamp is None else stamp.size
