"""The lane's connection: the only one that writes, and the only one that checkpoints."""

import contextlib
from collections.abc import Sequence

import apsw

from holdfast.core import Clock, HoldfastError
from holdfast.store.engine import Damage, Tx
from holdfast.store.sqlite.disk_reserve import Room
from holdfast.store.sqlite.log import WriteAheadLog
from holdfast.store.sqlite.owner import Owner
from holdfast.store.sqlite.transaction import ERRORS, SqliteTx, explain


class SqliteWriter:
    """Begins, commits and takes back; says what an error means; keeps the log short and looks for room."""

    errors = ERRORS
    history = SqliteTx.history

    def __init__(
        self, connection: apsw.Connection, log: WriteAheadLog, room: Room, clock: Clock, owner: Owner | None = None
    ) -> None:
        self._connection = connection
        self._log = log
        self._room = room
        self._owner = owner
        self._tx = SqliteTx(connection, clock)
        self._run = connection.cursor().execute

    def take_over(self) -> None:
        """Own the store from now on; on a full disk as soon as there is room."""
        with contextlib.suppress(apsw.FullError, apsw.IOError, apsw.CantOpenError):
            self._beat()

    def begin(self, locks: Sequence[str], *, cautious: bool, makes_room: bool) -> Tx:
        """BEGIN IMMEDIATE: the whole file is the lock, whatever the names; StoreTaken if another server has it."""
        self._room.let_in(makes_room=makes_room)
        self._log.keep_within_limit()
        self._run("BEGIN IMMEDIATE")
        if self._owner is not None:
            self._owner.check(self._connection)
        return self._tx

    def savepoint(self) -> None:
        self._run("SAVEPOINT w")

    def release(self) -> None:
        self._run("RELEASE w")

    def undo(self) -> None:
        self._run("ROLLBACK TO w")
        self._run("RELEASE w")

    def commit(self) -> None:
        """Return once the write-ahead log is synced and still the one that others see."""
        self._run("COMMIT")
        self._log.check_same()

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self._run("ROLLBACK")

    def damage(self, error: Exception, *, committing: bool) -> Damage:
        """An I/O error while committing or emptying the log is fatal: what the kernel kept is unknown."""
        if isinstance(error, apsw.FullError):
            self._room.ran_out()
        unsure = self._log.unsure or (committing and isinstance(error, apsw.IOError))
        return Damage.FATAL if unsure else Damage.NONE

    def explain(self, error: Exception) -> HoldfastError:
        return explain(error)

    def reconnect(self) -> None:
        """A file has no connection to lose."""

    def rest(self, *, idle: bool) -> None:
        """Say that the owner lives, keep the log short, and see whether there is room again."""
        try:
            self._beat()
            if self._tx.traces:
                self._tx.traces = not self._log.empty()
            else:
                self._log.rest(idle=idle)
        except apsw.FullError:
            self._room.ran_out()
        self._room.look()

    def close(self) -> None:
        """End the connection, and let the store go."""
        if self._owner is not None:
            self._owner.leave(self._connection)
        self._connection.close()

    def _beat(self) -> None:
        if self._owner is not None:
            self._owner.beat(self._connection, self._log)
