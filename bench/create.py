"""How long a program waits for a new session, beside an append, and beside a handler that does nothing else."""

import contextlib
import tempfile
from pathlib import Path
from statistics import median

from bench.line import Effort, Line
from bench.load import LoadResult, Order, run
from bench.servers import gateway, serving

AT_MOST = 2.0


def measure(effort: Effort) -> list[Line]:
    """One program, one request after the other."""
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=effort.folder)))
        ours = stack.enter_context(gateway(place / "data")).port
        bare = stack.enter_context(serving("bench.bare", f"sqlite:///{place}/bare.db")).port
        orders = {
            "create": Order([ours], "create", 1, effort.seconds / 2),
            "append": Order([ours], "append", 1, effort.seconds / 2),
            "bare create": Order([bare], "create", 1, effort.seconds / 2),
        }
        for order in orders.values():
            run(order)
        rounds = [{name: run(order) for name, order in orders.items()} for _ in range(effort.repeats)]
    return [
        Line(
            "create",
            "a new session over HTTP / an append, p50 of one program's waits",
            "×",
            median(found["create"].p50_ms / found["append"].p50_ms for found in rounds),
            at_most=AT_MOST,
            beside={
                f"{name} p{part} ms": median(_wait(found[name], part) for found in rounds)
                for name in orders
                for part in (50, 99)
            },
        )
    ]


def _wait(found: LoadResult, part: int) -> float:
    return found.p50_ms if part == 50 else found.p99_ms
