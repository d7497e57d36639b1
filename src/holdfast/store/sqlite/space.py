"""Space inside a SQLite file that nothing uses, and how the disk gets it back.

The pages of what was deleted stay in the file, for what is written next. When they are many, a chore moves pages from
the end of the file into them and cuts the end off, a few at a time, so that no write waits long. A file must be made
for that: one of an earlier version is not, until `shrink` has written it anew, which takes all of it at once.
"""

import os
import time
from pathlib import Path

import apsw

from holdfast.core.errors import StoreUnavailable
from holdfast.store.engine import Tx
from holdfast.store.sqlite.log import PAGE
from holdfast.store.sqlite.transaction import BUSY_MS, explain
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

STEP_PAGES = 256
TOGETHER = 8
"""Pages that are moved at once: with a million free ones, finding these takes a few milliseconds."""
INCREMENTAL = 2

PREPARE = "PRAGMA auto_vacuum=INCREMENTAL"
MODE = "PRAGMA auto_vacuum"
FREE_PAGES = "PRAGMA freelist_count"
MOVE = f"PRAGMA incremental_vacuum({TOGETHER})"


def give_back(tx: Tx, tuning: StoreTuning = DEFAULT_TUNING) -> bool:
    """A chore: give some of the free pages back to the disk; True if there are more than should stay."""
    left = _number(tx, FREE_PAGES) - tuning.free_pages
    if left <= 0 or _number(tx, MODE) != INCREMENTAL:
        return False
    last = max(0, left - STEP_PAGES)
    deadline = time.monotonic() + tuning.give_back_seconds
    while left > last:
        tx.run(MOVE)
        left = _number(tx, FREE_PAGES) - tuning.free_pages
        if time.monotonic() > deadline:
            break
    if left <= 0:
        tx.leave_no_trace()  # the file is cut when the log is emptied
    return left > 0


def free_bytes(connection: apsw.Connection) -> int:
    """What is free inside the file."""
    return int(connection.pragma("freelist_count")) * PAGE


def shrink(path: Path) -> tuple[int, int]:
    """Write a store's file anew, without free pages and able to give back those to come; its size before and after.

    Nobody else may use the store meanwhile. It is the old file or the new one whatever happens, and the disk needs room
    for both.
    """
    os.environ["SQLITE_TMPDIR"] = str(path.absolute().parent)  # the copy is made there, not where memory may be
    before = path.stat().st_size
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(BUSY_MS)
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(PREPARE)
        connection.execute("VACUUM")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        if connection.pragma("auto_vacuum") != INCREMENTAL:
            raise StoreUnavailable(f"{path} could not be written anew", hint="end every program that has it open")
    except apsw.Error as error:
        raise explain(error) from error
    finally:
        connection.close()
    return before, path.stat().st_size


def _number(tx: Tx, pragma: str) -> int:
    row = tx.one(pragma)
    assert row is not None
    return int(row[0])
