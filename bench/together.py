"""Sixty-four writers on sixty-four sessions, against a raw commit."""

from statistics import median

from bench.line import Effort, Line, in_turns, ratio
from bench.material import WRITERS
from bench.raw import commits_per_second
from bench.writers import sqlite_pace

AT_LEAST = 3.5


def measure(effort: Effort, name: str = "together", at_least: float = AT_LEAST) -> list[Line]:
    """Writers that come together share their commits."""
    rounds = in_turns(
        effort.repeats,
        lambda: sqlite_pace(effort.folder, WRITERS, effort.seconds),
        lambda: commits_per_second(effort.folder, effort.seconds),
    )
    return [
        Line(
            name,
            f"{WRITERS} writers / a raw commit",
            "×",
            ratio([(store.rate, raw) for store, raw in rounds]),
            at_least=at_least,
            beside={
                "appends/s": median(store.rate for store, _ in rounds),
                "raw/s": median(raw for _, raw in rounds),
                "p99 ms": median(store.p99_ms for store, _ in rounds),
            },
        )
    ]
