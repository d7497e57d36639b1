"""Life and death of servers: ours is told to the others, and what a dead one left running is taken up or ended.

A server says every second that it is alive. A running task whose owner has stopped saying so is an orphan. With the
session's lease in hand, so that an owner that was only slow can no longer write to it, it is run if no turn of it was
under way, which is all that was promised. A turn that was is begun again where the agent allows that and has not
answered yet, a few times at most; else it is failed, with a reason. Its session is interrupted until the turn runs
again, or has failed.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from holdfast.a2a import conversation, records
from holdfast.a2a.endings import broken_off, record, spoken
from holdfast.a2a.texts import kept_text
from holdfast.a2a.turn_queue import TurnQueue
from holdfast.a2a.turns import Turns
from holdfast.a2a.wire import TextPart
from holdfast.core import HoldfastError, IdSource, Lease, Task, TaskState
from holdfast.store import Store
from holdfast.store.tasks import Orphan

ALIVE_MS = 4_000
ROUND_SECONDS = 1.0
PAUSES = (0.0, 1.0, 3.0)
"""Before each time that a turn is begun again."""

INTERRUPTED = "the turn was interrupted by a restart of the server; send the message again, or another, to go on"
TAKEN_UP = "the turn was interrupted by a restart of the server and is begun again"

log = logging.getLogger("holdfast.a2a")


class Recovery:
    """The heartbeat of one owner, and its watch over the others."""

    def __init__(
        self,
        store: Store,
        queue: TurnQueue,
        turns_of: Callable[[Store], Turns],
        *,
        owner: str,
        resume: bool,
        ids: IdSource,
    ) -> None:
        self._store = store
        self._queue = queue
        self._turns_of = turns_of
        self._owner = owner
        self._resume = resume
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
                self._underway[name] = asyncio.create_task(self._settle(orphan))

    async def _settle(self, orphan: Orphan) -> None:
        """Take an orphan up or fail it once its session is free; what does not succeed, the next round finds again."""
        name, store = orphan.task.task_id, self._store.for_tenant(orphan.tenant)
        try:
            async with self._queue.hold(store, orphan.task.session_id, f"{self._owner}:{name}") as lease:
                still = [found.task for found in await store.tasks.orphans() if found.task.task_id == name]
                for task in still:
                    log.warning("task %s was left behind by a server that died", name)
                    # In the same hold: what has come since waits behind it.
                    await (self._again if records.underway(task) else self._run)(store, task, lease)
        except HoldfastError as error:
            log.warning("task %s cannot be settled yet: %s", name, error)
        finally:
            del self._underway[orphan.tenant, name]

    async def _run(self, store: Store, task: Task, lease: Lease) -> None:
        """Run what was accepted and not begun."""
        message = await conversation.next_message(store, task)
        if message is None:
            await self._fail(store, task, lease)
            return
        task = await store.tasks.update(task, TaskState.SUBMITTED, lease=lease, owner=self._owner)
        await self._turns_of(store).take_up(task, message, lease, after_seconds=0, interrupted=False)

    async def _again(self, store: Store, task: Task, lease: Lease) -> None:
        """Begin a turn again that was under way, or fail it."""
        tries = records.tries(task)
        message = await conversation.unanswered(store, task) if self._resume and tries < len(PAUSES) else None
        if message is None:
            await self._fail(store, task, lease)
            return
        note = records.message_record(spoken(task, (TextPart(TAKEN_UP),), self._ids))
        task = await store.tasks.update(
            *(task, TaskState.SUBMITTED, {"tries": tries + 1, "statusMessage": note, "underway": True}),
            lease=lease,
            owner=self._owner,
            session_status="interrupted",
        )
        await self._turns_of(store).take_up(task, message, lease, after_seconds=PAUSES[tries], interrupted=True)

    async def _fail(self, store: Store, task: Task, lease: Lease) -> None:
        ending = broken_off(task, TaskState.FAILED, INTERRUPTED, await kept_text(store, task), self._ids)
        ending = replace(ending, changes=ending.changes | records.INTERRUPTED)
        self._turns_of(store).tell(task, await record(store, task, ending, lease, session_status="failed"))
