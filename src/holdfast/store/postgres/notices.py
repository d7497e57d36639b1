"""Telling other processes that something was committed, and hearing it from them.

The listening connection also looks now and then whether the schema is still the one that we know.

Notices are hints. They are sent after the commit, on a connection of their own and many commits at a time: sent
inside the writes they would make the whole cluster commit one by one. A lost notice costs at most a second.
"""

import contextlib
import os
import selectors
import threading
import time
from collections.abc import Callable

import psycopg

from holdfast.store.postgres.server import Connection
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

CHANNEL = "holdfast"
RETRY_SECONDS = 1.0
SCHEMA = "schema"
"""What a process says that has changed the schema."""


class Notices:
    """The notifying and the listening thread of one process, each started when it is first needed."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        sender: str,
        look: Callable[[Connection], None],
        tuning: StoreTuning = DEFAULT_TUNING,
    ) -> None:
        self._connect = connect
        self._sender = sender
        self._look = look
        self._tuning = tuning
        self._due = threading.Event()
        self._stop = threading.Event()
        self._start = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._notifying = False
        self._end, self._ending = os.pipe()

    def announce(self) -> None:
        """Send a notice soon."""
        self._due.set()
        if not self._notifying:
            with self._start:
                if not self._notifying:
                    self._notifying = True
                    self._spawn(self._notify)

    def listen(self, heard: Callable[[], None]) -> None:
        """Call `heard` when another process has sent one."""
        self._spawn(lambda: self._hear(heard))

    def close(self) -> None:
        """End both threads."""
        self._stop.set()
        self._due.set()
        os.write(self._ending, b".")
        for thread in self._threads:
            thread.join()
        os.close(self._end)
        os.close(self._ending)

    def _spawn(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=lambda: self._keep_trying(target), name="holdfast-notices", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _keep_trying(self, target: Callable[[], None]) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(psycopg.Error):
                target()
            self._stop.wait(RETRY_SECONDS)

    def _notify(self) -> None:
        with self._connect() as connection:
            while not self._stop.is_set():
                self._due.wait()
                self._due.clear()
                if self._stop.is_set():
                    return
                connection.execute("SELECT pg_notify($1, $2)", (CHANNEL, self._sender))
                time.sleep(0.002)  # let commits gather

    def _hear(self, heard: Callable[[], None]) -> None:
        with self._connect() as connection:
            connection.execute(f"LISTEN {CHANNEL}")
            with selectors.DefaultSelector() as arrivals:
                arrivals.register(connection.fileno(), selectors.EVENT_READ)
                arrivals.register(self._end, selectors.EVENT_READ)
                due = 0.0
                while not self._stop.is_set():
                    for notice in connection.notifies(timeout=0):
                        if notice.payload != self._sender:
                            heard()
                        if notice.payload == SCHEMA:
                            due = 0.0
                    if time.monotonic() >= due:
                        self._look(connection)
                        due = time.monotonic() + self._tuning.schema_look_seconds
                    arrivals.select(max(0.0, due - time.monotonic()))
