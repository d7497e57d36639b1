"""The version of a SQLite file: a number that changes with every commit of every other connection, of any process.

SQLite tells it from memory that all connections share, in microseconds and without waiting for a writer.
"""

import threading
from collections.abc import Callable
from itertools import count

import apsw


class DataVersion:
    """A connection that is asked for nothing else, opened when it is first needed."""

    def __init__(self, connect: Callable[[], apsw.Connection]) -> None:
        self._connect = connect
        self._connection: apsw.Connection | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._unknown = count()

    def now(self) -> str:
        """The version; one that never comes again if it cannot be told just now."""
        with self._lock:
            try:
                if self._connection is None and not self._closed:
                    self._connection = self._connect()
                    self._connection.set_busy_timeout(0)
                if self._connection is not None:
                    return str(self._connection.execute("PRAGMA data_version").get)
            except apsw.Error:
                pass
            return f"unknown {next(self._unknown)}"

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None
