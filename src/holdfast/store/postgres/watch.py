"""A bound on every wait for a PostgreSQL server.

A host that vanishes says nothing, and the kernel may wait for it for minutes. So one thread looks at the connections
that wait. When one has had no answer for a few seconds, it asks the same server on a new connection whether it still
works on that statement. A server that says so may take its time, up to the connection's limit. One that does not
answer is gone: the connection's socket is shut down, and whoever waits on it gets an error at once.
"""

import contextlib
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

from holdfast.store.postgres.server import Connection, ServerIdentity
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

LOOK_SECONDS = 0.25
STATEMENT_SECONDS = 60.0
"""The longest wait of a connection that is not patient, such as for a synchronous standby that has gone."""
WAIT_INTERVAL = 0.1
REFUSAL = "FATAL:"
"""What a server says that lets nobody in just now; the driver gives such errors no code of their own."""
ALIVE = "SELECT pid FROM pg_stat_activity WHERE pid = ANY($1)"

Answer = TypeVar("Answer")
Address = dict[str, Any]


class WatchedConnection(Connection):
    """A connection that says since when it waits, and whose wait another thread can end."""

    address: Address
    identity: ServerIdentity
    backend = 0
    limit = float("inf")
    """The seconds that one wait may last, whatever the server says."""
    waits_since: float | None = None
    asked_at = 0.0
    _reason: str | None = None
    _end: Callable[[], object] = staticmethod(lambda: None)

    def wait(self, gen: PQGen[Answer], interval: float = WAIT_INTERVAL, *args: Any, **options: Any) -> Answer:
        """Consume a generator that waits for the server."""
        self.waits_since = time.monotonic()
        try:
            return super().wait(gen, interval, *args, **options)
        except psycopg.OperationalError:
            if self._reason is None:
                raise
            raise psycopg.OperationalError(self._reason) from None
        finally:
            self.waits_since = None

    def keep_socket(self) -> None:
        """Keep a name of our own for the socket: the connection's number may be another file's by the time we cut."""
        spare = os.dup(self.fileno())
        self._end = weakref.finalize(self, os.close, spare)
        self._spare = spare
        self._cutting = threading.Lock()

    def cut(self, reason: str) -> None:
        """End the connection from any thread; whoever waits on it is told the reason."""
        with self._cutting:
            if self.closed or self._reason is not None:
                return
            self._reason = reason
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._spare)) as same:
                same.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection."""
        super().close()
        if hasattr(self, "_cutting"):
            with self._cutting:
                self._end()


class Watch:
    """The open connections of one database, and the thread that looks at those that wait."""

    def __init__(self, vanished: Callable[[Address], None], tuning: StoreTuning = DEFAULT_TUNING) -> None:
        self._vanished = vanished
        self._tuning = tuning
        self._connections: weakref.WeakSet[WatchedConnection] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._looking = False
        self._probe: threading.Thread | None = None
        self.ended = False

    def add(self, connection: WatchedConnection) -> None:
        """Look at this connection from now on, until it is closed."""
        connection.keep_socket()
        with self._lock:
            self._connections.add(connection)
            if not self._looking:
                self._looking = True
                threading.Thread(target=self._look, name="holdfast-watch", daemon=True).start()
        if self.ended:
            connection.cut("the store is closing")

    def open(self) -> list[WatchedConnection]:
        """Those that are open."""
        with self._lock:
            return [each for each in self._connections if not each.closed]

    def end(self) -> None:
        """Cut everything: nobody waits for the database any more."""
        self.ended = True
        for connection in self.open():
            connection.cut("the store is closing")

    def _look(self) -> None:
        while True:
            connections = self.open()
            now, quiet_seconds = time.monotonic(), self._tuning.quiet_seconds
            quiet = [each for each in connections if _waited(each, now) > quiet_seconds]
            for each in quiet:
                if _waited(each, now) > each.limit:
                    each.cut(f"the database server did not answer within {each.limit:.0f} s")
            due = [each for each in quiet if each.backend and now - each.asked_at > quiet_seconds]
            if due and (self._probe is None or not self._probe.is_alive()):
                self._probe = threading.Thread(target=self._ask, args=(due,), name="holdfast-probe", daemon=True)
                self._probe.start()
            del quiet, due
            with self._lock:
                if not any(not each.closed for each in self._connections):
                    self._looking = False
                    return
            del connections
            time.sleep(LOOK_SECONDS)

    def _ask(self, waiting: list[WatchedConnection]) -> None:
        """Ask the server of the first of them which of them it still works for, and cut those that it does not know."""
        address = waiting[0].address
        same = [each for each in waiting if each.address == address]
        since = {each: each.waits_since for each in same}
        for each in same:
            each.asked_at = time.monotonic()
        try:
            alive = self._alive(address, [each.backend for each in same])
        except psycopg.Error as error:
            if error.sqlstate is not None or REFUSAL in str(error):
                return  # it answered
            self._vanished(address)
            alive = set()
        for each in same:
            each.asked_at = time.monotonic()
            if each.backend not in alive and each.waits_since == since[each]:
                each.cut("the database server has not answered, and does not answer on a new connection either")

    def _alive(self, address: Address, backends: list[int]) -> set[int]:
        timeout = {"connect_timeout": max(2, int(self._tuning.probe_seconds))}
        with WatchedConnection.connect(
            **address | timeout, autocommit=True, cursor_factory=psycopg.RawCursor
        ) as connection:
            connection.limit = self._tuning.probe_seconds
            self.add(connection)
            return {pid for (pid,) in connection.execute(ALIVE, (backends,))}


def _waited(connection: WatchedConnection, now: float) -> float:
    since = connection.waits_since
    return 0.0 if since is None else now - since
