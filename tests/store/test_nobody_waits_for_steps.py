"""A big fork, deletion, undelete or purge goes in short steps, and others get their turn between them.

No times here: counted is how much one transaction holds, and how often a bystander commits meanwhile. How long the
bystander waits is measured by `bench/bystander.py`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.support.material import numbered
from tests.support.opening import store_with

from holdfast.store import NewEvent, Store
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.part import Workers
from holdfast.store.tuning import DEFAULT_TUNING

EVENTS = 4_000
LOG = "SELECT count(*), coalesce(sum(length(payload)), 0) FROM transcript_events WHERE session_no = ?1"
ARCHIVE = "SELECT count(*), coalesce(sum(length(payload)), 0) FROM archived_events WHERE session_no = ?1"


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    """A store without chores: every step is the operation's own."""
    async with store_with(store_url, ()) as opened:
        yield opened


@dataclass(slots=True)
class Weighed:
    """Notes how many events and bytes each write adds to the log and the archive, or takes away."""

    inner: Workers
    number: Callable[[], int]
    steps: list[tuple[int, int]] = field(default_factory=list)

    async def write(
        self, run: Callable[[Tx], Any], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Any:
        def weigh(tx: Tx) -> Any:
            before = self._content(tx)
            done = run(tx)
            changes = [abs(a - b) for a, b in zip(self._content(tx), before, strict=True)]
            self.steps.append((max(changes[0], changes[2]), max(changes[1], changes[3])))
            return done

        return await self.inner.write(weigh, locks, weight, makes_room=makes_room)

    async def read(self, run: Callable[[Tx], Any], length: ReadLength = ReadLength.LONG) -> Any:
        return await self.inner.read(run, length)

    def _content(self, tx: Tx) -> tuple[int, ...]:
        log, archive = tx.one(LOG, self.number()), tx.one(ARCHIVE, self.number())
        assert log is not None
        assert archive is not None
        return tuple(int(count) for count in (*log, *archive))


async def beside(store: Store, operation: asyncio.Task[Any]) -> int:
    """How often a bystander commits while an operation runs."""
    count = 0
    while not operation.done():
        await store.append("bystander", numbered(count))
        count += 1
    await operation
    return count


@pytest.mark.parametrize("operation", ["fork", "delete", "undelete", "purge"])
async def test_no_step_is_big_and_a_bystander_comes_between(store: Store, operation: str) -> None:
    for start in range(0, EVENTS, 2_000):
        await store.append("s", numbered(*range(start, start + 2_000)))
    number = 1
    if operation in {"undelete", "purge"}:
        await store.deletion.delete("s")
    if operation == "fork":
        number = 2
        await store.append("bystander", numbered(0))
        number = 3
    part: Any = {
        "fork": store.forks,
        "delete": store.deletion,
        "undelete": store.undeletion,
        "purge": store.archives,
    }[operation]
    weighed = Weighed(part.workers, lambda: number)
    part = replace(part, workers=weighed)
    running = {
        "fork": lambda: part.fork("s", new_session_id="f"),
        "delete": lambda: part.delete("s"),
        "undelete": lambda: part.undelete("s"),
        "purge": lambda: part.purge("s"),
    }[operation]()
    commits = await beside(store, asyncio.create_task(running))
    moved = sum(events for events, _ in weighed.steps)
    assert moved >= EVENTS, "the steps were not seen"
    assert max(events for events, _ in weighed.steps) <= DEFAULT_TUNING.step_events
    assert max(size for _, size in weighed.steps) <= DEFAULT_TUNING.step_bytes
    steps = sum(events > 1 for events, _ in weighed.steps)
    assert steps >= EVENTS // DEFAULT_TUNING.step_events
    assert commits >= steps // 4, f"{commits} commits beside {steps} steps"


async def test_a_step_of_big_events_is_bounded_by_its_bytes(store: Store) -> None:
    await store.append("s", [NewEvent("t", {"text": "x" * 700_000, "n": n}) for n in range(10)])
    weighed = Weighed(store.forks.workers, lambda: 2)
    await replace(store.forks, workers=weighed).fork("s", new_session_id="f")
    assert sum(events for events, _ in weighed.steps) >= 10
    assert max(size for _, size in weighed.steps) <= DEFAULT_TUNING.step_bytes
    weighed = Weighed(store.deletion.workers, lambda: 1)
    await replace(store.deletion, workers=weighed).delete("s")
    assert max(size for _, size in weighed.steps) <= DEFAULT_TUNING.step_bytes
    weighed = Weighed(store.undeletion.workers, lambda: 1)
    await replace(store.undeletion, workers=weighed).undelete("s")
    assert max(size for _, size in weighed.steps) <= DEFAULT_TUNING.step_bytes
    await store.deletion.delete("s")
    weighed = Weighed(store.archives.workers, lambda: 1)
    await replace(store.archives, workers=weighed).purge("s")
    assert max(size for _, size in weighed.steps) <= DEFAULT_TUNING.step_bytes
