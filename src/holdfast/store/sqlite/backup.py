"""A SQLite store as one file: copied page by page from one snapshot while others write, and put back."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import apsw

from holdfast.core import SystemClock, TimeOrderedIds
from holdfast.core.errors import Corrupt, InvalidInput
from holdfast.store.migrations import migrate, newest
from holdfast.store.sqlite.database_file import left_beside
from holdfast.store.sqlite.owner import forget_owner
from holdfast.store.sqlite.transaction import SqliteTx, explain

STEP_PAGES = 2_000

Progress = Callable[[int, int], None]

APPLICATION_ID = 0x486F6C64  # "Hold"
ANOTHER = "take another backup; nothing was made of this one"
SET_ID = "UPDATE schema_meta SET value = ? WHERE key = 'store_id'"
NOTE = "INSERT OR REPLACE INTO schema_meta (key, value) VALUES ('damaged', ?)"
NOTED = "SELECT value FROM schema_meta WHERE key = 'damaged'"
DROP_NOTE = "DELETE FROM schema_meta WHERE key = 'damaged'"


def copy(source: apsw.Connection, target: Path, told: Progress) -> None:
    """Copy the store as it is now to a new or empty file that stands alone.

    The snapshot is held until the copy is done, and the write-ahead log grows meanwhile: see the log's bound.
    """
    source.execute("BEGIN")
    source.execute("SELECT count(*) FROM schema_meta").fetchall()  # the snapshot begins with the first read
    _copy_pages(source, target, told)
    source.execute("ROLLBACK")


def restore(backup: Path, target: Path, told: Progress) -> None:
    """Put a backup where no store is, with the newest schema and under an id of its own; Corrupt if it is damaged."""
    try:
        _restore(backup, target, told)
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        raise Corrupt(f"the backup is damaged: {error}", hint=ANOTHER) from error
    except apsw.Error as error:
        raise explain(error) from error


def note(path: Path, damage: str) -> None:
    """Write down inside a backup which of its sessions were damaged when it was made."""
    with contextlib.closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as made:
        made.execute("PRAGMA synchronous=FULL")
        made.execute(NOTE, (damage,))


def noted(path: Path) -> str | None:
    """What was written down so; Corrupt if the file cannot be read."""
    try:
        with contextlib.closing(_opened(path)) as backup:
            found: str | None = backup.execute(NOTED).get
            return found
    except apsw.Error as error:
        raise Corrupt(f"the backup is damaged: {error}", hint=ANOTHER) from error


def _opened(backup: Path) -> apsw.Connection:
    """Immutable: nobody writes to a backup, and SQLite must not look for a log beside it."""
    return apsw.Connection(
        f"file:{quote(str(backup.absolute()), errors='surrogateescape')}?immutable=1",
        flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
    )


def _restore(backup: Path, target: Path, told: Progress) -> None:
    _refuse_store_in_use(backup)
    _check_length(backup)
    with contextlib.closing(_opened(backup)) as there:
        if there.pragma("application_id") != APPLICATION_ID:
            raise InvalidInput(f"{backup} is another program's database", hint="name a file that db backup made")
        _copy_pages(there, target, told)
    with contextlib.closing(apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)) as made:
        found = [str(row[0]) for row in made.execute("PRAGMA integrity_check(5)")]
        if found != ["ok"]:
            raise Corrupt(f"the backup is damaged: {found[0]}", hint=ANOTHER)
        made.execute("PRAGMA synchronous=FULL")
        with made:
            migrate(SqliteTx(made, SystemClock()), "sqlite")
            made.pragma("user_version", newest("sqlite"))
            made.execute(SET_ID, (TimeOrderedIds()(),))


def _refuse_store_in_use(path: Path) -> None:
    """InvalidInput if there is a log or a journal beside the file: it has not all of what was acknowledged."""
    beside = [each for each in left_beside(path) if each.stat().st_size]
    if beside:
        raise InvalidInput(
            f"{path} is not a backup: {beside[0]} has the rest of it",
            hint="serve it as a store, with what is beside it, and make a backup of that",
        )


def _check_length(path: Path) -> None:
    """Corrupt if the file has more or fewer bytes than its own first page says."""
    with path.open("rb") as file:
        head = file.read(32)
    page, pages = int.from_bytes(head[16:18]), int.from_bytes(head[28:32])
    wanted = (65_536 if page == 1 else page) * pages
    found = path.stat().st_size
    if found != wanted:
        raise Corrupt(f"the backup is damaged: it has {found:,} bytes, and should have {wanted:,}", hint=ANOTHER)


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
        made.execute(DROP_NOTE)
    finally:
        made.close()
