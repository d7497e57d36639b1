"""A test whose browser answers no more. Playwright waits for some answers without end: `evaluate` has no timeout, and
a page whose script goes round for ever gives none. An alarm inside this process would go off in the middle of
Playwright's loop, which nothing that comes after survives. So the pages of a test that takes too long are ended from
outside: Playwright tells that as an error, where the test waits, and the next test has a browser."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

LIMIT_SECONDS = 420.0
NEXT_SECONDS = 15.0
PAGES, BROWSERS, DRIVERS = b"--type=renderer", b"--remote-debugging-pipe", b"run-driver"


@dataclass
class Watch:
    """Over one test."""

    limit: float
    ended: str | None = None
    """What had to be ended."""


@contextmanager
def watch(limit: float = LIMIT_SECONDS) -> Iterator[Watch]:
    """End the pages after so many seconds; if that does not help, their browser, and then what drives it."""
    watched = Watch(limit)
    over = threading.Event()

    def wait() -> None:
        seconds = limit
        for kind in (PAGES, BROWSERS, DRIVERS):
            if over.wait(seconds):
                return
            watched.ended = kind.decode()
            for pid in below(os.getpid(), kind):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            seconds = NEXT_SECONDS

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        yield watched
    finally:
        over.set()
        thread.join()


def below(pid: int, words: bytes) -> list[int]:
    """The descendants of a process that have these words in their command line."""
    parents: dict[int, int] = {}
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(each.name)] = int((each / "stat").read_text().rpartition(")")[2].split()[1])
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        waiting += [child for child, its_parent in parents.items() if its_parent == parent]
        with suppress(OSError):
            if words in Path(f"/proc/{parent}/cmdline").read_bytes():
                found.append(parent)
    return found
