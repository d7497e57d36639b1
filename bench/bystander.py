"""How long somebody else's append waits beside a fork, a deletion, an undelete, a purge and an import of a long log."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.line import Effort, Line
from bench.material import TYPE, payload, session_id
from holdfast.store import NewEvent, Store, open_store

EVENTS = 100_000
BATCH = 1_000
AT_MOST_MS = 50.0
PAUSE_SECONDS = 0.002

_A = {
    "fork": "a fork",
    "deletion": "a deletion",
    "undelete": "an undelete",
    "purge": "a purge",
    "import": "an import",
}


def measure(effort: Effort) -> list[Line]:
    """One run of each: a hundred thousand events are enough to repeat the same step two hundred times."""
    waits = asyncio.run(_run(effort.folder, effort.seconds))
    alone = waits.pop("alone")
    return [
        Line(
            f"beside-{name}",
            f"the longest wait of an append beside {_A[name]} of {EVENTS:,} events",
            "ms",
            max(times),
            at_most=AT_MOST_MS,
            beside={"p99 ms": _p99(times), "alone ms": max(alone), "alone p99 ms": _p99(alone), "appends": len(times)},
        )
        for name, times in waits.items()
    ]


async def _run(folder: Path, seconds: float) -> dict[str, list[float]]:
    async with await open_store(f"sqlite:///{folder}/{uuid.uuid4().hex}.db") as store:
        long = session_id(1)
        for _ in range(EVENTS // BATCH):
            await store.append(long, [NewEvent(TYPE, payload()) for _ in range(BATCH)])
        await store.search.find("nothing")  # so that the index has caught up
        archive = folder / f"{uuid.uuid4().hex}.holdfast"
        await store.exporting.archive(archive, [long])
        waits = {
            "alone": await _waits(store, lambda: asyncio.sleep(seconds)),
            "fork": await _waits(store, lambda: store.forks.fork(long)),
            "deletion": await _waits(store, lambda: store.deletion.delete(long)),
            "undelete": await _waits(store, lambda: store.undeletion.undelete(long)),
        }
        await store.deletion.delete(long)
        return {
            **waits,
            "purge": await _waits(store, lambda: store.archives.purge(long)),
            "import": await _waits(store, lambda: store.for_tenant("other").importing.archive(archive)),
        }


async def _waits(store: Store, operation: Callable[[], Awaitable[Any]]) -> list[float]:
    """How long each append of a bystander took, in milliseconds, while the operation ran."""
    running = asyncio.ensure_future(operation())
    times: list[float] = []
    while not running.done():
        began = time.perf_counter()
        await store.append(session_id(2), [NewEvent(TYPE, payload())])
        times.append((time.perf_counter() - began) * 1_000)
        await asyncio.sleep(PAUSE_SECONDS)
    await running
    return times


def _p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]
