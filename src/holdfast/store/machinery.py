"""The threads of an open store: lanes, readers and feeds over one engine, shared by all its tenants."""

import asyncio
import copy
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar
from zlib import crc32

from holdfast.core.errors import HoldfastError, StoreUnavailable
from holdfast.core.large_json import LARGE_JSON
from holdfast.store.engine import DecidedBodies, Engine, RecordedEvent, Tx, Writer
from holdfast.store.feed.feed import Hubs
from holdfast.store.lanes.chores import Chore
from holdfast.store.lanes.give_way import GiveWay
from holdfast.store.lanes.lane import Lane
from holdfast.store.lanes.readers import Readers
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.log.body_pairs import UndecidedBodies, decide
from holdfast.store.sessions.state import MAX_STATE, StateDocuments
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

Result = TypeVar("Result")


class Machinery:
    """The threads of one open store, shared by the views of all its tenants."""

    def __init__(
        self,
        engine: Engine,
        *,
        read_only: bool,
        chores: Sequence[Chore] = (),
        max_state: int = MAX_STATE,
        tuning: StoreTuning = DEFAULT_TUNING,
    ) -> None:
        self.engine = engine
        self.tuning = tuning
        self.documents = StateDocuments(max_state)
        self.readers = Readers(engine, tuning)
        self.hubs = Hubs(engine, self, tuning)
        lanes = 0 if read_only else engine.lanes
        self.lanes = [
            Lane(
                f"holdfast-lane-{n}",
                writer,
                partial(self._published, writer),
                self._decide,
                chores if n == 0 else (),
                tuning,
            )
            for n, writer in enumerate(engine.writer() for _ in range(lanes))
        ]
        self.give_way = GiveWay(self.lanes)

    def write(
        self, run: Callable[[Tx], Result], locks: Sequence[str], weight: int = 1, *, makes_room: bool = False
    ) -> Awaitable[Result]:
        """Run a write on the lane of its first lock; its result once it is durable."""
        if not self.lanes:
            raise StoreUnavailable("the store was opened read-only")
        lane = self.lanes[0]
        if locks and len(self.lanes) > 1:
            lane = self.lanes[crc32(locks[0].encode()) % len(self.lanes)]
        self.give_way.watch(asyncio.get_running_loop())
        return lane.submit(run, locks, weight, makes_room=makes_room)

    def read(
        self, run: Callable[[Tx], Result], length: ReadLength = ReadLength.LONG, *, tenant: str | None = None
    ) -> Awaitable[Result]:
        """Run a read over one snapshot, for a tenant or for the store itself."""
        return self.readers.run(run, length, tenant=tenant)

    def failure(self) -> HoldfastError | None:
        """Why the store no longer acknowledges writes, or None."""
        for lane in self.lanes:
            if lane.failure is not None:
                return copy.copy(lane.failure)
        return None

    def let_go(self) -> None:
        """Wait for the database no longer."""
        for lane in self.lanes:
            lane.take_no_more()
        self.engine.let_go()

    def close(self) -> None:
        """Finish what is queued and release everything. Blocks."""
        for lane in self.lanes:
            lane.close()
        self.readers.close()
        self.engine.close()

    async def _decide(self, undecided: UndecidedBodies) -> DecidedBodies:
        return await decide(undecided, LARGE_JSON, partial(self.read, tenant=undecided.tenant))

    def _published(self, writer: Writer, recorded: list[RecordedEvent]) -> None:
        self.hubs.published(recorded, writer.history)
        self.engine.announce()


class TenantWorkers:
    """The same threads at work for one tenant, which has its share of the readers."""

    def __init__(self, machinery: Machinery, tenant: str) -> None:
        self.write = machinery.write
        self._machinery = machinery
        self._tenant = tenant

    def read(self, run: Callable[[Tx], Result], length: ReadLength = ReadLength.LONG) -> Awaitable[Result]:
        """Run a read over one snapshot."""
        return self._machinery.read(run, length, tenant=self._tenant)
