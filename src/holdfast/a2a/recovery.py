"""Life and death of servers: ours is told to the others, and what a dead one left running is ended.

A server says every second that it is alive. A running task whose owner has stopped saying so is an orphan: it is
failed, with the session's lease in hand, so that an owner that was only slow can no longer write to it.
"""

import asyncio
import logging

from holdfast.a2a.endings import broken_off, record
from holdfast.a2a.turn_queue import TurnQueue
from holdfast.core import HoldfastError, IdSource, TaskState
from holdfast.store import Store
from holdfast.store.tasks import Orphan

ALIVE_MS = 4_000
ROUND_SECONDS = 1.0

INTERRUPTED = "the turn was interrupted by a restart of the server; send a new message to go on"

log = logging.getLogger("holdfast.a2a")


class Recovery:
    """The heartbeat of one owner, and its watch over the others."""

    def __init__(self, store: Store, queue: TurnQueue, *, owner: str, ids: IdSource) -> None:
        self._store = store
        self._queue = queue
        self._owner = owner
        self._ids = ids
        self._underway: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._rounds: asyncio.Task[None] | None = None

    async def start(self, *, alone: bool) -> None:
        """Begin the heartbeat and the watch; alone: whoever else was alive in this store is dead."""
        if alone:
            await self._store.tasks.declare_all_dead()
        await self._round()
        self._rounds = asyncio.create_task(self._go_round())

    async def stop(self) -> None:
        """End the heartbeat and the watch."""
        ours = [*self._underway.values(), *filter(None, [self._rounds])]
        for task in ours:
            task.cancel()
        await asyncio.gather(*ours, return_exceptions=True)

    async def _go_round(self) -> None:
        while True:
            await asyncio.sleep(ROUND_SECONDS)
            try:
                await self._round()
            except HoldfastError as error:
                log.warning("the heartbeat skips a beat: %s", error)

    async def _round(self) -> None:
        await self._store.tasks.beat(self._owner, ALIVE_MS)
        for orphan in await self._store.tasks.orphans():
            name = (orphan.tenant, orphan.task.task_id)
            if name not in self._underway:
                self._underway[name] = asyncio.create_task(self._end(orphan))

    async def _end(self, orphan: Orphan) -> None:
        """Fail an orphan once its session is free; if that does not succeed, the next round finds it again."""
        task, store = orphan.task, self._store.for_tenant(orphan.tenant)
        try:
            async with self._queue.hold(store, task.session_id, f"{self._owner}:{task.task_id}") as lease:
                if task.task_id in {found.task.task_id for found in await store.tasks.orphans()}:
                    log.warning("task %s was left behind by a server that died", task.task_id)
                    await record(store, task, broken_off(task, TaskState.FAILED, INTERRUPTED, self._ids), lease)
        except HoldfastError as error:
            log.warning("task %s cannot be ended yet: %s", task.task_id, error)
        finally:
            del self._underway[orphan.tenant, task.task_id]
