"""A SQLite store as one file: copied page by page from one snapshot while others write, and put back."""

from collections.abc import Callable
from pathlib import Path

import apsw

from holdfast.core import TimeOrderedIds
from holdfast.core.errors import Corrupt, InvalidInput
from holdfast.store.sqlite.owner import forget_owner

STEP_PAGES = 2_000

Progress = Callable[[int, int], None]

SET_ID = "UPDATE schema_meta SET value = ? WHERE key = 'store_id'"


def copy(source: Path, target: Path, told: Progress) -> None:
    """Copy the store as it is now to a new or empty file that stands alone.

    The snapshot is held until the copy is done, and the write-ahead log grows meanwhile: see the log's bound.
    """
    there = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        there.set_busy_timeout(10_000)
        there.execute("BEGIN")
        there.execute("SELECT count(*) FROM schema_meta").fetchall()  # the snapshot begins with the first read
        _copy_pages(there, target, told)
        there.execute("ROLLBACK")
    finally:
        there.close()


def restore(backup: Path, target: Path, told: Progress) -> None:
    """Put a backup where no store is, under an id of its own; Corrupt, and nothing is left, if it is damaged."""
    there = apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        _copy_pages(there, target, told)
    finally:
        there.close()
    made = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        found = [str(row[0]) for row in made.execute("PRAGMA integrity_check(5)")]
        if found != ["ok"]:
            raise Corrupt(f"the backup is damaged: {found[0]}")
        made.execute("PRAGMA synchronous=FULL")
        made.execute(SET_ID, (TimeOrderedIds()(),))
    finally:
        made.close()


def is_backup(path: Path) -> bool:
    """Whether the file is a SQLite database."""
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _copy_pages(there: apsw.Connection, target: Path, told: Progress) -> None:
    if target.exists() and target.stat().st_size:
        raise InvalidInput(f"{target} is not empty")
    target.touch(mode=0o600)
    made = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        made.execute("PRAGMA synchronous=FULL")
        with made.backup("main", there, "main") as pages:
            while not pages.done:
                pages.step(STEP_PAGES)
                told(pages.page_count - pages.remaining, pages.page_count)
        made.execute("PRAGMA journal_mode=DELETE")  # one file, that needs no log beside it
        forget_owner(made)
    finally:
        made.close()
