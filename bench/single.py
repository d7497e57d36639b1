"""One writer that awaits each append, against a raw commit."""

from statistics import median

from bench.line import Effort, Line, in_turns, ratio
from bench.raw import commits_per_second
from bench.writers import sqlite_pace


def measure(effort: Effort) -> list[Line]:
    """One awaited append is at least half as fast as a bare commit."""
    rounds = in_turns(
        effort.repeats,
        lambda: sqlite_pace(effort.folder, 1, effort.seconds),
        lambda: commits_per_second(effort.folder, effort.seconds),
    )
    return [
        Line(
            "single",
            "one awaited append / a raw commit",
            "×",
            ratio([(store.rate, raw) for store, raw in rounds]),
            at_least=0.5,
            beside={
                "appends/s": median(store.rate for store, _ in rounds),
                "raw/s": median(raw for _, raw in rounds),
                "p99 ms": median(store.p99_ms for store, _ in rounds),
            },
        )
    ]
