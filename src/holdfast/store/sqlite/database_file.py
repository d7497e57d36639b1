"""The file of a SQLite store: the one that was opened must stay the one that others find by its name.

A file that is moved, removed or replaced under an open connection goes on taking writes, and nobody opens it again by
the store's name. So each commit looks who is at the path. A log whose database is gone is never taken for an empty
store: SQLite would remove it, and it may have the newest of what was acknowledged.
"""

import os
from pathlib import Path

import apsw

from holdfast.core.errors import EngineRefused

BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database; the database is not whole without it."""


class DatabaseFile:
    """A database's file as it was when it was opened."""

    def __init__(self, path: Path) -> None:
        self.log = Path(f"{os.path.realpath(path)}-wal")
        """SQLite follows symbolic links, and keeps its log beside the file itself."""
        self._path = str(path)
        self._file = _identity(self._path)

    def check_same(self) -> None:
        """An IOError if another file, or none, is at the path: what was written is not where others look."""
        if _identity(self._path) != self._file:
            raise apsw.IOError("the database file was replaced under the store")


def left_beside(path: Path) -> list[Path]:
    """What a database that was at this path has left beside it: SQLite would take it for the next one's."""
    real = os.path.realpath(path)
    return [each for each in (Path(f"{real}{suffix}") for suffix in BESIDE) if each.exists()]


def refuse_log_alone(path: Path) -> None:
    """EngineRefused if no database, or an empty file, is at the path, and a log beside it."""
    log = Path(f"{os.path.realpath(path)}-wal")
    if _size(path) == 0 and _size(log) > 0:
        raise EngineRefused(
            f"there is no database at {path}, but {log} is there, which is part of one",
            hint="move the database back beside it, or the log to where its database is now: it may have what was"
            " acknowledged last",
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - once per commit, and a Path costs three times as much
    except OSError:
        return None
    return found.st_dev, found.st_ino
