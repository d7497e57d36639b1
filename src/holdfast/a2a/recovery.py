"""Life and death of servers: ours is told to the others, and what a dead one left running is taken up or ended.

A server says every second that it is alive. A running task whose owner has stopped saying so is an orphan. With the
session's lease in hand, so that an owner that was only slow can no longer write to it, it is begun again where the
agent allows that and has not answered yet, a few times at most; else it is failed, with a reason. Its session is
interrupted until the turn runs again, or has failed.
"""

import asyncio
import logging
from collections.abc import Callable

from holdfast.a2a import records
from holdfast.a2a.endings import broken_off, record, spoken
from holdfast.a2a.turn_queue import TurnQueue
from holdfast.a2a.turns import Turns
from holdfast.a2a.wire import Message, Role, TextPart
from holdfast.core import HoldfastError, IdSource, Task, TaskState, types
from holdfast.store import Store
from holdfast.store.tasks import Orphan

ALIVE_MS = 4_000
ROUND_SECONDS = 1.0
PAUSES = (0.0, 1.0, 3.0)
"""Before each time that a turn is begun again."""

INTERRUPTED = "the turn was interrupted by a restart of the server; send a new message to go on"
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
        task, store = orphan.task, self._store.for_tenant(orphan.tenant)
        try:
            async with self._queue.hold(store, task.session_id, f"{self._owner}:{task.task_id}") as lease:
                if task.task_id not in {found.task.task_id for found in await store.tasks.orphans()}:
                    return
                log.warning("task %s was left behind by a server that died", task.task_id)
                tries = records.tries(task)
                message = await unanswered(store, task) if self._resume and tries < len(PAUSES) else None
                if message is None:
                    ending = broken_off(task, TaskState.FAILED, INTERRUPTED, self._ids)
                    ended = await record(store, task, ending, lease, session_status="failed")
                    self._turns_of(store).tell(task, ended)
                    return
                note = records.message_record(spoken(task, (TextPart(TAKEN_UP),), self._ids))
                changes = {"tries": tries + 1, "statusMessage": note}
                task = await store.tasks.update(
                    *(task, TaskState.SUBMITTED, changes),
                    lease=lease,
                    owner=self._owner,
                    session_status="interrupted",
                )
                # In the same hold: what has come since waits behind it.
                await self._turns_of(store).take_up(task, message, lease, after_seconds=PAUSES[tries])
        except HoldfastError as error:
            log.warning("task %s cannot be settled yet: %s", task.task_id, error)
        finally:
            del self._underway[orphan.tenant, task.task_id]


async def unanswered(store: Store, task: Task) -> Message | None:
    """The message that a task's turn was to answer; None if the agent has said something to it already."""
    before: int | None = None
    while True:
        events = await store.newest(task.session_id, before=before, types=(types.MESSAGE,))
        if not events:
            return None
        said = [message for message in map(records.message_in, events) if message and message.task_id == task.task_id]
        if said:
            return said[-1] if said[-1].role is Role.USER else None
        before = events[0].seq
