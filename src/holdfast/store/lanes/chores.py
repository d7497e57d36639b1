"""Work that nobody waits for: whose turn it is, and what went wrong last."""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Protocol, TypeVar

from holdfast.store.engine import Tx
from holdfast.store.tuning import StoreTuning

Chore = Callable[[Tx], bool]
"""One step of work, in a transaction of its own; True if there is more to do.

A step may be left out, interrupted or run again. One that changed nothing is taken to have no more to do.
"""

Work = TypeVar("Work", bound=Callable[..., bool])

MAKES_ROOM = "makes_room"

log = logging.getLogger("holdfast.store")


class ChoreStep(Protocol):
    """A chore that has yet to be told how much to do at once."""

    def __call__(self, tx: Tx, tuning: StoreTuning) -> bool:
        """Make one step; True if there is more to do."""
        ...


class Chores:
    """The chores of a lane, a step each in turn, so that none can starve another."""

    def __init__(self, chores: Sequence[Chore]) -> None:
        self._chores = chores
        self._todo: deque[Chore] = deque()
        self._troubles: dict[Chore, str] = {}

    def look(self) -> None:
        """Give every chore a turn again, after those that were interrupted."""
        self._todo.extend(chore for chore in self._chores if chore not in self._todo)

    def next(self) -> Chore | None:
        """The chore whose turn it is, or None when none has more to do."""
        return self._todo.popleft() if self._todo else None

    def went_well(self, chore: Chore, *, more: bool) -> None:
        """Its step is done; with more to do it gets another turn."""
        self._troubles.pop(chore, None)
        if more:
            self._todo.append(chore)

    def failed(self, chore: Chore, error: Exception) -> None:
        """Its step was taken back: say so once, and leave it until the next look."""
        text = repr(error)
        if self._troubles.get(chore) != text:
            self._troubles[chore] = text
            name = getattr(chore, "__qualname__", repr(chore))
            log.warning("a chore of the store (%s) failed and is tried again later: %s", name, text)


def makes_room(work: Work) -> Work:
    """Mark a chore that makes room, such as a purge: it goes on when room is short and others must wait."""
    vars(work)[MAKES_ROOM] = True
    return work


def chore_of(step: ChoreStep, tuning: StoreTuning) -> Chore:
    """The step as a chore of a store with this tuning; its name and its mark stay."""
    return update_wrapper(partial(step, tuning=tuning), step)
