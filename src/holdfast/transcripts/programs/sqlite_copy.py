"""Another program's SQLite database, read from a private copy.

The program's own files are only ever read as plain bytes, so nothing of it is locked, recovered or left behind there:
no -shm, no -wal. The copy takes the -wal and the journal with it, so it has all that was committed. Whether the program
wrote meanwhile is seen by the files' sizes and times, and the copy is made again.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from holdfast.core.errors import Busy, HoldfastError, InvalidInput
from holdfast.transcripts.files.line_file import open_plain

BESIDE = ("", "-wal", "-journal")
TRIES = 5
WAIT_SECONDS = 0.2
HEADER = b"SQLite format 3\0"


class UnreadableDatabase(InvalidInput):
    """A database of another program cannot be read."""

    code = "unreadable_database"
    hint = "see whether the program itself can still read it"


@contextmanager
def sqlite_copy(path: Path) -> Iterator["CopiedDatabase"]:
    """The database as it is now; UnreadableDatabase, UnreadableFile, or Busy if it changes without a pause."""
    with tempfile.TemporaryDirectory(prefix="holdfast-copy-") as folder:
        copy = Path(folder) / "copy.db"
        for _ in range(TRIES):
            before = signature(path)
            for suffix in BESIDE:
                _copy(path.with_name(path.name + suffix), copy.with_name(copy.name + suffix))
            if signature(path) == before:
                break
            time.sleep(WAIT_SECONDS)
        else:
            raise Busy(f"{path} changes too fast to be copied", retry_after=1)
        try:
            connection = apsw.Connection(str(copy))
            try:
                yield CopiedDatabase(connection)
            finally:
                connection.close()
        except apsw.Error as error:
            raise UnreadableDatabase(f"cannot read {path}: {error}", file=str(path)) from None


def is_sqlite(path: Path) -> bool:
    """Whether a file begins as SQLite's do."""
    try:
        with open_plain(path) as file:
            return file.read(len(HEADER)) == HEADER
    except (HoldfastError, OSError):
        return False


def signature(path: Path) -> tuple[tuple[int, int, int], ...]:
    """By what it is seen that a database was not written to: identity, size and time of its files."""
    found = []
    for suffix in BESIDE:
        try:
            seen = path.with_name(path.name + suffix).stat()
        except FileNotFoundError:
            found.append((0, 0, 0))
        else:
            found.append((seen.st_ino, seen.st_size, seen.st_mtime_ns))
    return tuple(found)


class CopiedDatabase:
    """A copy that is asked."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def columns(self, table: str) -> frozenset[str]:
        """The columns of a table; none if there is no such table."""
        return frozenset(row[1] for row in self._connection.execute(f'PRAGMA table_info("{table}")'))

    def rows(self, sql: str, *values: Any) -> Iterator[dict[str, Any]]:
        """The rows of an answer, each by the names of its columns."""
        cursor = self._connection.cursor()
        cursor.execute(sql, values)
        try:
            names = [each[0] for each in cursor.get_description()]
        except apsw.ExecutionCompleteError:
            return
        for row in cursor:
            yield dict(zip(names, row, strict=True))


def _copy(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    if source.exists() or not source.name.endswith(BESIDE[1:]):
        with open_plain(source) as read, target.open("wb") as write:
            shutil.copyfileobj(read, write, 1024 * 1024)
