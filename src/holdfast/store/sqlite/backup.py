"""A SQLite store as one file: copied page by page from one snapshot while others write, and put back.

A table that no store has keeps the files of a folder that goes with the store.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import apsw

from holdfast.core import SystemClock, TimeOrderedIds
from holdfast.core.errors import Corrupt, InvalidInput
from holdfast.store.migrations import migrate, newest
from holdfast.store.sqlite.database_file import left_beside
from holdfast.store.sqlite.owner import forget_owner
from holdfast.store.sqlite.transaction import SqliteTx, explain
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

Progress = Callable[[int, int], None]

APPLICATION_ID = 0x486F6C64  # "Hold"
ANOTHER = "take another backup; nothing was made of this one"
SET_ID = "UPDATE schema_meta SET value = ? WHERE key = 'store_id'"
NOTE = "INSERT OR REPLACE INTO schema_meta (key, value) VALUES ('damaged', ?)"
NOTED = "SELECT value FROM schema_meta WHERE key = 'damaged'"
MAKE_FILES = "CREATE TABLE backup_files (name TEXT PRIMARY KEY, sha256 TEXT NOT NULL, content BLOB NOT NULL)"
ADD_FILE = "INSERT INTO backup_files VALUES (?, ?, ?)"
HAS_FILES = "SELECT count(*) FROM sqlite_schema WHERE name = 'backup_files'"
FILES = "SELECT name, sha256, content FROM backup_files ORDER BY name"
DROP_FILES = "DROP TABLE IF EXISTS backup_files"
DROP_NOTE = "DELETE FROM schema_meta WHERE key = 'damaged'"


def copy(source: apsw.Connection, target: Path, told: Progress, tuning: StoreTuning = DEFAULT_TUNING) -> None:
    """Copy the store as it is now to a new or empty file that stands alone.

    The snapshot is held until the copy is done, and the write-ahead log grows meanwhile: see the log's bound.
    """
    source.execute("BEGIN")
    source.execute("SELECT count(*) FROM schema_meta").fetchall()  # the snapshot begins with the first read
    _copy_pages(source, target, told, tuning)
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


def keep_files(path: Path, files: Iterable[tuple[str, bytes]]) -> int:
    """Put files into a backup, by their names; how many there were."""
    count = 0
    with contextlib.closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as made:
        made.execute("PRAGMA synchronous=FULL")
        with made:
            for name, raw in files:
                if not count:
                    made.execute(MAKE_FILES)
                made.execute(ADD_FILE, (name, hashlib.sha256(raw).hexdigest(), raw))
                count += 1
    return count


def kept_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a backup; Corrupt if one is not what was put there."""
    try:
        with contextlib.closing(_opened(path)) as backup:
            if not backup.execute(HAS_FILES).get:
                return
            for name, digest, raw in backup.execute(FILES):
                if hashlib.sha256(raw).hexdigest() != digest:
                    raise Corrupt(f"the backup is damaged: {name!r:.200} is not what was written", hint=ANOTHER)
                yield name, raw
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
            made.execute(DROP_FILES)


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


def _copy_pages(there: apsw.Connection, target: Path, told: Progress, tuning: StoreTuning = DEFAULT_TUNING) -> None:
    if target.exists() and target.stat().st_size:
        raise InvalidInput(f"{target} is not empty")
    target.touch(mode=0o600)
    made = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        made.execute("PRAGMA synchronous=FULL")
        with made.backup("main", there, "main") as pages:
            while not pages.done:
                pages.step(tuning.copy_pages)
                told(pages.page_count - pages.remaining, pages.page_count)
        made.execute("PRAGMA journal_mode=DELETE")  # one file, that needs no log beside it
        forget_owner(made)
        made.execute(DROP_NOTE)
    finally:
        made.close()
