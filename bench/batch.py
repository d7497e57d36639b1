"""Batches of a thousand events, against one event at a time."""

from statistics import median

from bench.line import Effort, Line, in_turns, ratio
from bench.writers import sqlite_pace

EVENTS = 1_000


def measure(effort: Effort) -> list[Line]:
    """A batch costs little more than its bytes."""
    rounds = in_turns(
        effort.repeats,
        lambda: sqlite_pace(effort.folder, 1, effort.seconds, batch=EVENTS),
        lambda: sqlite_pace(effort.folder, 1, effort.seconds),
    )
    return [
        Line(
            "batch",
            f"batches of {EVENTS:,} / one awaited append, events/s",
            "×",
            ratio([(batch.rate, single.rate) for batch, single in rounds]),
            at_least=25,
            beside={
                "events/s": median(batch.rate for batch, _ in rounds),
                "single/s": median(single.rate for _, single in rounds),
            },
        )
    ]
