"""Sixty-four writers on an event loop that always has something else to do."""

import asyncio
import time
from statistics import median

from bench.line import Effort, Line
from bench.material import WRITERS
from bench.writers import sqlite_pace

SLICE_SECONDS = 0.0003


async def burn() -> None:
    """Keep the loop busy in small slices, for ever."""
    while True:
        end = time.perf_counter() + SLICE_SECONDS
        while time.perf_counter() < end:
            pass
        await asyncio.sleep(0)


def measure(effort: Effort) -> list[Line]:
    """A busy loop slows writers down; it does not starve them."""
    rounds = [
        sqlite_pace(effort.folder, WRITERS, 2 * effort.seconds, beside=burn) for _ in range(max(effort.repeats, 3))
    ]
    return [
        Line(
            "busy-loop",
            f"{WRITERS} writers beside a busy loop",
            "/s",
            median(pace.rate for pace in rounds),
            at_least=2_000,
            beside={"p99 ms": median(pace.p99_ms for pace in rounds)},
        ),
        Line(
            "busy-loop",
            "their longest wait",
            "ms",
            max(pace.worst_ms for pace in rounds),
            at_most=50,
            beside={"median of the rounds ms": median(pace.worst_ms for pace in rounds)},
        ),
    ]
