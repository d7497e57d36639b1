"""What must not grow: resuming a session as it gets longer, listing sessions as there are more."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.line import Effort, Line, ratio
from bench.material import TYPE, payload
from holdfast.store import NewEvent, Store, open_store

SMALL, LARGE = 1_000, 100_000
BATCH = 2_000
RESUME_AT_MOST = 1.5
LIST_AT_MOST = 2.0
ROUNDS = 40


def measure(effort: Effort) -> list[Line]:
    """Both sides of each ratio are taken in turns, in one store."""
    with tempfile.TemporaryDirectory(dir=effort.folder) as place:
        resumed, listed = asyncio.run(_run(Path(place), effort.repeats * ROUNDS))
    return [
        Line(
            "resume",
            f"resuming {LARGE:,} events, as a multiple of resuming {SMALL:,}",
            "x",
            ratio(resumed),
            at_most=RESUME_AT_MOST,
            beside={"ms": sorted(one for one, _ in resumed)[len(resumed) // 2]},
        ),
        Line(
            "list",
            f"a page of {LARGE:,} sessions, as a multiple of a page of {SMALL:,}",
            "x",
            ratio(listed),
            at_most=LIST_AT_MOST,
            beside={"ms": sorted(one for one, _ in listed)[len(listed) // 2]},
        ),
    ]


async def _run(folder: Path, rounds: int) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    async with await open_store(f"sqlite:///{folder}/store.db") as store:
        await _long(store, "small", SMALL)
        await _long(store, "large", LARGE)
        resumed = [
            (await _ms(lambda: store.resume("large")), await _ms(lambda: store.resume("small"))) for _ in range(rounds)
        ]
        few, many = store.for_tenant("few"), store.for_tenant("many")
        await _many(few, SMALL)
        await _many(many, LARGE)
        listed = [(await _ms(lambda: _page(many)), await _ms(lambda: _page(few))) for _ in range(rounds)]
    return resumed, listed


async def _page(store: Store) -> None:
    """A page from the middle of the list."""
    first = await store.sessions.list(limit=50)
    await store.sessions.list(limit=50, cursor=first.cursor)


async def _long(store: Store, session_id: str, count: int) -> None:
    body = payload()
    for _ in range(0, count, BATCH):
        await store.append(session_id, [NewEvent(TYPE, body) for _ in range(min(BATCH, count))])


async def _many(store: Store, count: int) -> None:
    async def writer(start: int) -> None:
        for number in range(start, count, 256):
            await store.append(f"session-{number}", [NewEvent(TYPE, payload())])

    await asyncio.gather(*(writer(start) for start in range(256)))


async def _ms(do: Callable[[], Awaitable[Any]]) -> float:
    start = time.perf_counter()
    await do()
    return (time.perf_counter() - start) * 1000
