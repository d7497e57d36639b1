"""Leftovers: the spools of programs that are gone. Whoever starts next delivers them, oldest first, one at a time.

A spool's folder is named after its session and the moment it was made. So a program can see which leftovers are its
own session's: these come before anything new, or the session's log would be out of order.
"""

import threading
from collections.abc import Sequence
from pathlib import Path

from holdfast.client.spool import Measure, Spool, inherit, is_dead, measure

BETWEEN = "~"


def spool_name(session_id: str, made: str) -> str:
    """The name of a spool's folder; `made` is an id that sorts by time."""
    return f"{session_id}{BETWEEN}{made}"


def find(folder: Path) -> list[Path]:
    """The spools in the folder whose programs are gone, oldest first."""
    if not folder.is_dir():
        return []
    named = [path for path in folder.iterdir() if BETWEEN in path.name and not path.name.startswith(".")]
    return [path for path in sorted(named, key=_made) if is_dead(path)]


def session_of(path: Path) -> str:
    """The session that a spool is about."""
    return path.name.rpartition(BETWEEN)[0]


def neglected(folder: Path) -> list[tuple[Path, Measure]]:
    """Folders beside this one, for other services or tokens, in which something waits and nobody is left to send it."""
    found = []
    for other in sorted(path for path in folder.parent.iterdir() if path != folder and path.is_dir()):
        left = [measure(path) for path in find(other)]
        if any(each.lines for each in left):
            found.append((other, _sum(left)))
    return found


class Leftovers:
    """Some leftovers, to be delivered in turn."""

    def __init__(self, paths: Sequence[Path], *, wait: bool) -> None:
        self._paths = list(paths)
        self._measures = {path: measure(path) for path in paths}
        self._wait = wait
        self._spool: Spool | None = None
        self._mutex = threading.Lock()

    @property
    def left(self) -> Measure:
        """How much of them is not settled."""
        with self._mutex:
            now = [] if self._spool is None else [self._spool.left]
            return _sum([*now, *self._measures.values()])

    @property
    def pending(self) -> bool:
        """Whether there is one to be delivered, or only to be removed."""
        return self._spool is not None or bool(self._paths)

    def first(self) -> Spool | None:
        """The oldest one, inherited; None if none is left.

        One that another program is at is left to it, or, with `wait`, BlockingIOError.
        """
        if self._spool is not None and self._spool.left.lines == 0:
            self._let_go()
        while self._spool is None and self._paths:
            try:
                found = inherit(self._paths[0])
            except BlockingIOError:
                if self._wait:
                    raise
                found = None
            with self._mutex:
                del self._measures[self._paths.pop(0)]
                self._spool = found
            if found is not None and found.left.lines == 0:
                self._let_go()
        return self._spool

    def put_back(self) -> None:
        """Let go of the one that is being delivered, so that another program may try; it stays the first."""
        if self._spool is not None and self._spool.left.lines:
            with self._mutex:
                self._paths.insert(0, self._spool.path)
                self._measures[self._spool.path] = self._spool.left
                found, self._spool = self._spool, None
            found.close()

    def close(self) -> None:
        """Let go of them: what was not delivered is for the next program."""
        if self._spool is not None:
            self._let_go()

    def _let_go(self) -> None:
        assert self._spool is not None
        self._spool.close()
        with self._mutex:
            self._spool = None


def _made(path: Path) -> str:
    return path.name.rpartition(BETWEEN)[2]


def _sum(measures: Sequence[Measure]) -> Measure:
    return Measure(sum(each.lines for each in measures), sum(each.size for each in measures))
