"""Leftovers: the spools of programs that are gone. Whoever starts next delivers them, oldest first, one at a time.

A spool's folder is named after its session, and by an id that sorts it behind those that its session had before. So a
program can see which leftovers are its own session's: these come before anything new, or the session's log would be out
of order.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.client.segments import SpoolSize, measure, total
from holdfast.client.spool import Spool, inherit, is_dead
from holdfast.core.ids import TIME_ORDERED, later_id

BETWEEN = "~"


def spool_name(folder: Path, session_id: str, made: str) -> str:
    """The name of a new spool's folder, behind all of its session's that are there; `made` is an id that sorts by time.

    The clock may stand still, or have been set back, since the last program of the session was killed.
    """
    found = (_made(path) for path in _spools(folder) if session_of(path) == session_id)
    last = max((each for each in found if TIME_ORDERED.match(each)), default="")
    return f"{session_id}{BETWEEN}{made if made > last else later_id(last)}"


def find(folder: Path) -> list[Path]:
    """The spools in the folder whose programs are gone, oldest first."""
    return [path for path in sorted(_spools(folder), key=_made) if is_dead(path)]


def session_of(path: Path) -> str:
    """The session that a spool is about."""
    return path.name.rpartition(BETWEEN)[0]


def neglected(folder: Path) -> list[tuple[Path, SpoolSize]]:
    """Folders beside this one, for other services or tokens, in which something waits and nobody is left to send it."""
    found = []
    for other in sorted(path for path in folder.parent.iterdir() if path != folder and path.is_dir()):
        left = [measure(path) for path in find(other)]
        if any(each.lines for each in left):
            found.append((other, total(left)))
    return found


class LeftoverTurn(NamedTuple):
    """The one that is being delivered, and those that wait, oldest first."""

    spool: Spool | None
    waiting: tuple[tuple[Path, SpoolSize], ...]


class Leftovers:
    """Some leftovers, to be delivered in turn by one thread; any other can see how much is left."""

    def __init__(self, paths: Sequence[Path], *, wait: bool) -> None:
        self._turn = LeftoverTurn(None, tuple((path, measure(path)) for path in paths))
        self._wait = wait

    @property
    def left(self) -> SpoolSize:
        """How much of them is not settled."""
        spool, waiting = self._turn
        now = [] if spool is None else [spool.left]
        return total([*now, *(each for _, each in waiting)])

    @property
    def pending(self) -> bool:
        """Whether there is one to be delivered, or only to be removed."""
        return self._turn != (None, ())

    def first(self) -> Spool | None:
        """The oldest one, inherited; None if none is left.

        One that another program is at is left to it, or, with `wait`, BlockingIOError.
        """
        while True:
            spool, waiting = self._turn
            if spool is not None and spool.left.lines:
                return spool
            if spool is not None:
                self.close()
            elif not waiting:
                return None
            else:
                self._turn = LeftoverTurn(self._inherit(waiting[0][0]), waiting[1:])

    def put_back(self) -> None:
        """Let go of the one that is being delivered, so that another program may try; it stays the first."""
        spool, waiting = self._turn
        if spool is not None and spool.left.lines:
            self._turn = LeftoverTurn(None, ((spool.path, spool.left), *waiting))
            spool.close()

    def close(self) -> None:
        """Let go of the one that is being delivered: what was not delivered is for the next program."""
        spool, waiting = self._turn
        if spool is not None:
            spool.close()
            self._turn = LeftoverTurn(None, waiting)

    def _inherit(self, path: Path) -> Spool | None:
        try:
            return inherit(path)
        except BlockingIOError:
            if self._wait:
                raise
            return None


def _spools(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [path for path in folder.iterdir() if BETWEEN in path.name and not path.name.startswith(".")]


def _made(path: Path) -> str:
    return path.name.rpartition(BETWEEN)[2]
