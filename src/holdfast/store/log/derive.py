"""Deriving a session's rows from its log, page by page, so that neither the loop nor a lane waits for it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from holdfast.core import Event
from holdfast.store.engine import Tx
from holdfast.store.log.log_reader import PAGE, Head, stretch
from holdfast.store.log.projection import Projection
from holdfast.store.part import Workers

HIDDEN = b"hidden"


async def derive(
    workers: Workers,
    head: Head,
    *,
    into: Projection | None = None,
    after: int = 0,
    hide: frozenset[int] = frozenset(),
    seen: Callable[[Sequence[Event]], None] | None = None,
) -> Projection:
    """The projection of the log up to this head.

    `into` and `after` go on from a projection that ends there; events at the seqs in `hide` count as erased; `seen`
    is told of every event, once and in order.
    """
    projection = into or Projection()

    def fold(tx: Tx) -> None:
        nonlocal after  # here, and not by the caller: a read that is run again must not add its events twice
        if events := stretch(tx, head, after, None, PAGE).events:
            projection.add(replace(each, erased=HIDDEN) if each.seq in hide else each for each in events)
            if seen is not None:
                seen(events)
            after = events[-1].seq

    while after < head.seq:
        await workers.read(fold)
    return projection
