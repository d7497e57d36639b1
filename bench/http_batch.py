"""Batches of a thousand events over HTTP, against one event per request."""

import tempfile
from pathlib import Path
from statistics import median

from bench.line import Effort, Line, in_turns, ratio
from bench.load import BATCH, Order, run
from bench.material import WRITERS
from bench.servers import gateway


def measure(effort: Effort) -> list[Line]:
    """One program, which awaits each answer; beside it what many programs reach together with single appends."""
    with tempfile.TemporaryDirectory(dir=effort.folder) as place, gateway(Path(place) / "data") as server:
        batches = Order([server.port], "batch", 1, effort.seconds)
        singles = Order([server.port], "append", 1, effort.seconds)
        many = run(Order([server.port], "append", WRITERS, effort.seconds))
        rounds = in_turns(effort.repeats, lambda: run(batches), lambda: run(singles))
    return [
        Line(
            "http-batch",
            f"HTTP, one program: batches of {BATCH:,} / single appends, events/s",
            "×",
            ratio([(batch.rate * BATCH, single.rate) for batch, single in rounds]),
            at_least=15,
            beside={
                "events/s": median(batch.rate * BATCH for batch, _ in rounds),
                "single/s": median(single.rate for _, single in rounds),
                f"single/s of {WRITERS} programs": many.rate,
                "batch p99 ms": median(batch.p99_ms for batch, _ in rounds),
            },
        )
    ]
