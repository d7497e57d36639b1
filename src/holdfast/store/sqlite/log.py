"""The write-ahead log beside the file: how long it is, when it is emptied, and who keeps it from being emptied.

A reader keeps the log as it was when it began. One in another process cannot be ended from here, so the log is
bounded by refusing writes: they go on by themselves once the reader has ended.
"""

import logging
import os
from pathlib import Path

import apsw

from holdfast.core.errors import LogFull
from holdfast.store.sqlite.database_file import DatabaseFile
from holdfast.store.sqlite.transaction import BUSY_MS

PAGE = 4096
CHECKPOINT_PAGES = 1_000
TRUNCATE_PAGES = 16_384
WAL_LIMIT_PAGES = 65_536
WAIT_MS = 1_000
READ_LOCKS = range(123, 128)
"""The bytes of the `-shm` file that SQLite's readers lock."""

log = logging.getLogger("holdfast.store")


class WriteAheadLog:
    """The log as the lane's connection sees it: the only one that empties it."""

    def __init__(self, connection: apsw.Connection, file: DatabaseFile, *, often: int, limit: int) -> None:
        self.unsure = False
        """Whether emptying it failed in a way that leaves the file in doubt."""
        self._connection = connection
        self._file = file
        self._path = str(file.log)
        self._index = self._path.removesuffix("-wal") + "-shm"
        self._often = often
        self._limit = limit
        self._inode: int | None = None
        self._pages = 0
        self._behind = 0
        self._stuck = False
        connection.set_wal_hook(self._note)

    def check_same(self) -> None:
        """An IOError if the file or, since the first commit, the log was replaced: others look elsewhere."""
        self._file.check_same()
        try:
            inode = os.stat(self._path).st_ino  # noqa: PTH116 - once per commit, and a Path costs three times as much
        except FileNotFoundError:
            inode = -1
        if inode != self._inode:
            if self._inode is not None:
                raise apsw.IOError("the write-ahead log was replaced under the store")
            self._inode = inode

    def rest(self, *, idle: bool) -> None:
        """Move the log into the file often: a log that starts again overwrites, one that grows is slow to sync."""
        if self._behind >= (self._often // 4 if idle else self._often):
            self._checkpoint(empty=self._behind > TRUNCATE_PAGES)

    def move(self) -> None:
        """Move what can be moved of the log into the file, without waiting for anybody."""
        self._checkpoint(empty=False)

    def empty(self, *, wait_ms: int = 0) -> bool:
        """Move all of the log into the file and cut it to nothing; False if a reader is in the way."""
        return self._checkpoint(empty=True, wait_ms=wait_ms)

    def keep_within_limit(self) -> None:
        """LogFull if the log is too long and cannot be emptied."""
        if self._pages <= self._limit or self.empty(wait_ms=0 if self._stuck else WAIT_MS):
            self._stuck = False
            return
        blockers = readers_of(self._index)
        who = ", ".join(f"process {pid} ({name})" for pid, name in blockers.items()) or "a reader"
        text = f"the write-ahead log has {self._pages * PAGE / 1e6:.1f} MB and {who} keeps it from being emptied"
        if not self._stuck:
            log.warning("writes are refused: %s", text)
        self._stuck = True
        raise LogFull(text, retry_after=1, pids=list(blockers))

    def _checkpoint(self, *, empty: bool, wait_ms: int = 0) -> bool:
        try:
            self._connection.set_busy_timeout(wait_ms)
            how = apsw.SQLITE_CHECKPOINT_TRUNCATE if empty else apsw.SQLITE_CHECKPOINT_PASSIVE
            self._pages, moved = self._connection.wal_checkpoint(mode=how)
            self._behind = max(self._pages - moved, 0)
        except (apsw.BusyError, apsw.LockedError):
            return False  # the log stays, and the next rest tries again
        except apsw.FullError:
            raise  # the file must grow by what is new in the log; nothing is in doubt
        except apsw.Error:
            self.unsure = True
            raise
        finally:
            self._connection.set_busy_timeout(BUSY_MS)
        return True

    def _note(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._pages = self._behind = pages
        return apsw.SQLITE_OK


def readers_of(index: str) -> dict[int, str]:
    """Other processes, by pid and name, that read the database whose `-shm` file this is; {} where none is known."""
    try:
        found = Path(index).stat()
        locks = Path("/proc/locks").read_text()
    except OSError:
        return {}
    file = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    return {pid: _name(pid) for pid in sorted(lock_holders(locks, file)) if pid != os.getpid()}


def lock_holders(locks: str, file: str) -> set[int]:
    """The pids that hold a reader's lock of this file (major:minor:inode), from the text of /proc/locks."""
    pids = set()
    for line in locks.splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[1] == "POSIX" and fields[5] == file:
            first, last = int(fields[6]), READ_LOCKS.stop if fields[7] == "EOF" else int(fields[7])
            if first < READ_LOCKS.stop and last >= READ_LOCKS.start:
                pids.add(int(fields[4]))
    return pids


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "unknown"
