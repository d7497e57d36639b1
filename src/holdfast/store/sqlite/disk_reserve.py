"""Room on the disk: a reserve that is kept for deletions.

On a full disk even a deletion needs room, for the write-ahead log. So a file beside the store holds some back. When
a write first finds the disk full, the reserve is given up, ordinary writes are refused from then on, and those that
make room may use it. Emptying the log needs room as well, since the file grows by what is new in it: so the log is
moved into the file before it has half as much as the reserve.

Ordinary writes go on, by themselves, once there is room for them and for a new reserve; or once deletions have left
enough free pages inside the file. Then the file may not grow, so that what deletions need is never used up.
"""

import errno
import logging
import os
import shutil
from pathlib import Path

import apsw

from holdfast.core.errors import StorageFull
from holdfast.store.sqlite.log import CHECKPOINT_PAGES, PAGE, WriteAheadLog

RESERVE_BYTES = 2 * CHECKPOINT_PAGES * PAGE
NO_LIMIT = 0xFFFFFFFE

log = logging.getLogger("holdfast.store")


class Reserve:
    """A file that holds disk space back."""

    def __init__(self, path: Path, size: int) -> None:
        self.size = size
        self._path = path.with_name(path.name + ".reserve")

    def held(self) -> bool:
        """Whether it is there, with all its blocks."""
        try:
            return self._path.stat().st_blocks * 512 >= self.size
        except OSError:
            return False

    def make(self) -> bool:
        """Hold space back, if there is twice as much; so writes that follow have some too."""
        if self.held():
            return True
        if self.free() < 2 * self.size:
            return False
        try:
            file = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            try:
                allocate(file, self.size)
            finally:
                os.close(file)
        except OSError:
            self.release()
            return False
        return True

    def release(self) -> bool:
        """Give the space up; False if there was none."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def free(self) -> int:
        """Bytes that are free on the disk, as far as that can be seen."""
        try:
            return shutil.disk_usage(self._path.parent).free
        except OSError:
            return 0


class Room:
    """Whether ordinary writes may go on."""

    def __init__(self, connection: apsw.Connection, wal: WriteAheadLog, reserve: Reserve) -> None:
        self.short = False
        self._connection = connection
        self._wal = wal
        self._reserve = reserve
        self._capped = False
        if not reserve.make():
            self._note(short=True)

    def ran_out(self) -> None:
        """A write found the disk full: give up the reserve and refuse ordinary writes."""
        self._reserve.release()
        self._note(short=True)
        self._uncap()

    def let_in(self, *, makes_room: bool) -> None:
        """StorageFull for an ordinary write while room is short."""
        if not self.short or makes_room:
            return
        self.look()
        if self.short:
            raise StorageFull(
                "the disk that holds the store is short of room: only deletions go on until there is more"
            )

    def look(self) -> None:
        """See whether there is room again."""
        if not (self.short or self._capped):
            return
        if self._reserve.make() or (self._emptied() and self._reserve.make()):
            self._note(short=False)
            self._uncap()
        elif self.short and self._can_live_inside():
            self._note(short=False)
            self._cap()

    def _emptied(self) -> bool:
        try:
            return self._wal.empty()
        except apsw.FullError:
            return False

    def _can_live_inside(self) -> bool:
        """Whether the file has free pages for a while, and the disk room for the log."""
        free_inside = int(self._connection.pragma("freelist_count")) * PAGE
        return free_inside >= self._reserve.size // 4 and self._reserve.free() >= self._reserve.size // 2

    def _cap(self) -> None:
        """The file may not grow: what room is left on the disk, the log needs."""
        self._connection.pragma("max_page_count", self._connection.pragma("page_count"))
        self._capped = True

    def _uncap(self) -> None:
        if self._capped:
            self._connection.pragma("max_page_count", NO_LIMIT)
            self._capped = False

    def _note(self, *, short: bool) -> None:
        if short != self.short:
            log.warning("the store is short of room: only deletions go on" if short else "the store has room again")
        self.short = short


def allocate(file: int, size: int) -> None:
    """Take `size` bytes of the disk for this file, really."""
    try:
        os.posix_fallocate(file, 0, size)
    except (AttributeError, OSError) as error:  # not on every platform, not on every file system
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            raise
    else:
        return
    written = 0
    while written < size:
        written += os.write(file, bytes(min(1 << 20, size - written)))
