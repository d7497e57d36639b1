"""What a gateway takes of memory after a million appended events, against after the first hundred thousand."""

import tempfile
from pathlib import Path

from bench.line import Effort, Line
from bench.load import BATCH, Order, run
from bench.servers import Server, gateway

WRITERS = 8
FIRST = 100_000
EVENTS = 1_000_000
QUICK_EVENTS = 200_000
AT_MOST = 1.1
PATIENCE_SECONDS = 300.0
MB = 1024 * 1024


def measure(effort: Effort) -> list[Line]:
    """Nothing is kept of an event that was written: in memory, a million are no more than the first of them."""
    events = QUICK_EVENTS if effort.quick else EVENTS
    with tempfile.TemporaryDirectory(dir=effort.folder) as place, gateway(Path(place) / "data") as server:
        start = server.rss_bytes
        first = after(server, FIRST)
        middle = after(server, events // 2 - FIRST) if events // 2 > FIRST else first
        last = after(server, events - max(events // 2, FIRST))
    return [
        Line(
            "memory",
            f"memory of the gateway after {events:,} events / after {FIRST:,}",
            "×",
            last / first,
            at_most=AT_MOST,
            beside={
                "at start MB": start / MB,
                f"after {FIRST:,} MB": first / MB,
                f"after {events // 2:,} MB": middle / MB,
                f"after {events:,} MB": last / MB,
            },
            note=f"batches of {BATCH:,} over HTTP, {WRITERS} sessions",
        )
    ]


def after(server: Server, events: int) -> int:
    """What is in memory after so many more events."""
    run(Order([server.port], "batch", WRITERS, PATIENCE_SECONDS, most=events // BATCH // WRITERS))
    return server.rss_bytes
