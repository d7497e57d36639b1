"""The owner of a SQLite store: the one server that may commit to it, by a number in the store itself.

The lock file beside a database can be deleted, and a hard link gives the database a second name, with another lock
file and another write-ahead log beside it. So a server also takes a number in the store, one higher than the last, and
each of its transactions looks whether the number is still its own. The row is moved from the log into the file at
once, and with every heartbeat, so that it is seen by whatever name the file is opened.

An owner whose death can be seen from here is replaced at once; one that cannot be seen, in another container or from
before another boot, when it has said nothing for 15 seconds. Those who open a store without serving it own nothing,
and are not kept out.
"""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from holdfast.core import Clock
from holdfast.core.errors import EngineRefused, StoreInUse, StoreTaken
from holdfast.core.store_file import Claim, held_by
from holdfast.store.sqlite.log import WriteAheadLog
from holdfast.store.sqlite.process import Process, is_alive, this_process
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

SILENCE_MS = 15_000
LOOK_SECONDS = 0.2
NOBODY = (0, 0)
"""The number and the heartbeat of a store that nobody has served yet."""

THERE = "SELECT count(*) FROM sqlite_schema WHERE name = 'owner'"
GET = "SELECT number, beat_at, url, path, inode, lock, pid, started, boot, namespace FROM owner"
NUMBER = "SELECT number FROM owner"
TAKE = """
    UPDATE owner SET number = number + 1, beat_at = ?1, url = ?2, path = ?3, inode = ?4, lock = ?5, pid = ?6,
      started = ?7, boot = ?8, namespace = ?9"""
BEAT = "UPDATE owner SET beat_at = ?1"
LEAVE = "UPDATE owner SET pid = NULL, url = NULL WHERE number = ?1"
FORGET = "UPDATE owner SET pid = NULL, url = NULL, path = NULL, inode = NULL"

Connect = Callable[[], apsw.Connection]


class OwnerRow(NamedTuple):
    """The owner as the store has it; nobody without a pid."""

    number: int
    beat_at: int
    url: str | None
    path: str | None
    inode: int | None
    lock: int | None
    pid: int | None
    started: int | None
    boot: str | None
    namespace: str | None

    @property
    def process(self) -> Process:
        """The owner's process."""
        return Process(self.pid or 0, self.started or 0, self.boot or "", self.namespace or "")


class Owner:
    """This process as the owner of a store, once it has taken it."""

    def __init__(self, path: Path, claim: Claim, clock: Clock, tuning: StoreTuning = DEFAULT_TUNING) -> None:
        self._path = Path(os.path.realpath(path))
        self._claim = claim
        self._clock = clock
        self._tuning = tuning
        self._here = this_process()
        self._last: OwnerRow | None = None
        self._number: int | None = None
        self._ask: Callable[[str], apsw.Cursor] | None = None
        self._next_beat = 0.0

    def await_turn(self, connect: Connect) -> None:
        """Return once the store can be taken; StoreInUse if its owner lives, or may live and says so."""
        first = self._last = _look(connect)
        if first is None or not self._is_in_the_way(first):
            return
        age = self._clock.now() - first.beat_at
        end = time.monotonic() + (SILENCE_MS - min(max(age, 0), SILENCE_MS)) / 1000
        while time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
            now = self._last = _look(connect)
            if now is None or not self._is_in_the_way(now):
                return
            if now[:2] != first[:2]:
                raise self._in_use(now)

    def refuse_living(self, connect: Connect) -> None:
        """StoreInUse if the owner is seen to live: for those who only read."""
        found = _look(connect)
        if found is not None:
            self._is_in_the_way(found)

    def take(self, connection: apsw.Connection) -> None:
        """Take the store, in the open transaction; StoreInUse if another took it since our turn came."""
        found = _row(connection)
        if found[:2] != (NOBODY if self._last is None else self._last[:2]):
            raise self._in_use(found)
        about = (self._claim.url, str(self._path), _inode(self._path), self._claim.inode)
        connection.execute(TAKE, (self._clock.now(), *about, *self._here))
        self._number = found.number + 1
        self._ask = connection.cursor().execute  # once per commit, and a new cursor costs as much again
        self._next_beat = time.monotonic() + self._tuning.beat_seconds

    def check(self, connection: apsw.Connection) -> None:
        """StoreTaken, and the transaction is taken back, if another server has the store by now."""
        if self._number is None or self._ask is None or self._ask(NUMBER).get == self._number:
            return
        found = _row(connection)
        connection.execute("ROLLBACK")
        who = f"the server at {found.url}" if found.url else "another process"
        raise StoreTaken(f"{who} (pid {found.pid}) has taken over {self._path}", url=found.url, pid=found.pid)

    def beat(self, connection: apsw.Connection, log: WriteAheadLog) -> None:
        """Say now and then that we live; take the store unless we have it."""
        if time.monotonic() < self._next_beat:
            return
        self._next_beat = time.monotonic() + self._tuning.beat_seconds
        connection.execute("BEGIN IMMEDIATE")
        try:
            self.check(connection)
            if self._number is None:
                self.take(connection)
            else:
                connection.execute(BEAT, (self._clock.now(),))
            connection.execute("COMMIT")
            log.check_same()
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        log.move()

    def leave(self, connection: apsw.Connection) -> None:
        """Let the next one have the store; one that cannot be told finds that we are dead."""
        with contextlib.suppress(apsw.Error):
            connection.execute(LEAVE, (self._number,))

    def _is_in_the_way(self, found: OwnerRow) -> bool:
        """Whether the owner may live, for all that can be seen; StoreInUse if it does."""
        if found.inode != _inode(self._path):
            return False  # this file is a copy of the one that it has
        alive = None if found.pid is None else is_alive(found.process, self._here)
        if alive:
            raise self._in_use(found)
        self._refuse_log_elsewhere(found)
        if found.pid is None or alive is False:
            return False
        # The kernel gives a lock of this boot to one process at a time, whichever namespaces they are in.
        return found.boot != self._here.boot or found.lock != self._claim.inode

    def _refuse_log_elsewhere(self, found: OwnerRow) -> None:
        """EngineRefused if the last owner left a log beside another name of this file: it has what is not here yet."""
        there = Path(found.path or self._path)
        log = Path(f"{there}-wal")
        try:
            missed = there != self._path and there.samefile(self._path) and log.stat().st_size > 0
        except OSError:
            return
        if missed:
            raise EngineRefused(
                f"{self._path} is also {there}, and the newest of what was acknowledged is in {log}",
                hint="serve it by that name, and remove the other: one database must not have two names",
            )

    def _in_use(self, found: OwnerRow) -> StoreInUse:
        holder = {"pid": found.pid} if found.url is None else {"pid": found.pid, "url": found.url}
        return held_by(self._claim.lock, holder)


def forget_owner(connection: apsw.Connection) -> None:
    """Let a copy of a store be nobody's."""
    if connection.execute(THERE).get:
        connection.execute(FORGET)


def _look(connect: Connect) -> OwnerRow | None:
    """The owner, read afresh; None in a store that has no such row yet.

    A connection keeps the pages that it has read until its own log changes, and another name's log is another one's.
    The log that a killed server has left stays as it is: to move it for a look, and begin it anew, makes a start slow.
    """
    with contextlib.closing(connect()) as connection:
        found = _row(connection) if connection.execute(THERE).get else None
        with contextlib.suppress(FileNotFoundError):
            if Path(connection.filename_wal).stat().st_size:
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        return found


def _row(connection: apsw.Connection) -> OwnerRow:
    found: tuple[Any, ...] = connection.execute(GET).fetchall()[0]
    return OwnerRow(*found)


def _inode(path: Path) -> int:
    return os.stat(path).st_ino  # noqa: PTH116
