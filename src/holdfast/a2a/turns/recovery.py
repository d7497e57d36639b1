"""Life and death of servers: ours is told to the others, and what a dead one left is taken up, ended or posted.

A server says every second that it is alive. A running task whose owner has stopped saying so is an orphan. With the
session's lease in hand, so that an owner that was only slow can no longer write to it, it is run if no turn of it was
under way, which is all that was promised. A turn that was is begun again where the agent allows that and has not
answered yet, a few times at most, each counted before it is begun; else it is failed, with a reason. Its session is
interrupted until the turn runs again, or has failed. A server that stops goes on living until its turns have ended, and
takes up nothing.
"""

import asyncio
import logging
from dataclasses import replace
from typing import Any

from holdfast.a2a.protocol.wire import TextPart
from holdfast.a2a.turns import conversation, records
from holdfast.a2a.turns.endings import agent_message, cut_ending, record
from holdfast.a2a.turns.outputs import text_so_far
from holdfast.a2a.turns.tenant_turns import TenantTurns
from holdfast.a2a.turns.timing import TurnTiming
from holdfast.a2a.turns.turn_queue import SessionHold, TurnQueue
from holdfast.core import HoldfastError, IdSource, Task, TaskState
from holdfast.core.retry import until_written
from holdfast.core.statuses import SessionStatus
from holdfast.store import Store
from holdfast.store.tasks import Orphan, PendingPost

SECONDS_TO_RETIRE = 1.0

INTERRUPTED = "the turn was interrupted by a restart of the server; send the message again, or another, to go on"
GIVEN_UP = "the turn was begun {times} times, and each time its server died; it will not be again: send another message"
TAKEN_UP = "the turn was interrupted by a restart of the server and is begun again"

log = logging.getLogger("holdfast.a2a")


class Recovery:
    """The heartbeat of one owner, and its watch over the others."""

    def __init__(
        self,
        store: Store,
        queue: TurnQueue,
        turns: TenantTurns,
        *,
        owner: str,
        resume: bool,
        ids: IdSource,
        timing: TurnTiming,
    ) -> None:
        self._store = store
        self._timing = timing
        self._queue = queue
        self._turns = turns
        self._owner = owner
        self._resume = resume
        self._ids = ids
        self._underway: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._posting: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._own_news: set[PendingPost] = set()
        self._rounds: asyncio.Task[None] | None = None
        self._adopts = True

    async def start(self, *, alone: bool) -> None:
        """Begin the heartbeat and the watch; alone: whoever else was alive in this store is dead."""
        if alone:
            await self._store.tasks.declare_all_dead()
        await self._round()
        self._rounds = asyncio.create_task(self._go_round())

    def adopt_no_more(self) -> None:
        """Take up nothing from now on; the heartbeat goes on, for the turns that do."""
        self._adopts = False

    async def stop(self) -> None:
        """End the heartbeat and the watch: what is still ours is left to others at once."""
        self.adopt_no_more()
        ours = [*self._underway.values(), *self._posting.values(), *filter(None, [self._rounds])]
        for task in ours:
            task.cancel()
        await asyncio.gather(*ours, return_exceptions=True)
        try:
            async with asyncio.timeout(SECONDS_TO_RETIRE):
                await self._store.tasks.retire(self._owner)
        except (HoldfastError, TimeoutError) as error:
            log.warning("the others will notice by themselves that this server has stopped: %s", error)

    async def _go_round(self) -> None:
        while True:
            await asyncio.sleep(self._timing.round_seconds)
            try:
                await self._round()
            except HoldfastError as error:
                log.warning("the heartbeat skips a beat: %s", error)

    async def _round(self) -> None:
        await self._store.tasks.beat(self._owner, self._timing.alive_ms)
        if not self._adopts:
            return
        await self._look_at_the_outbox()
        for orphan in await self._store.tasks.orphans():
            name = (orphan.tenant, orphan.task.task_id)
            if name not in self._underway:
                self._underway[name] = asyncio.create_task(self._settle(orphan))

    async def _look_at_the_outbox(self) -> None:
        """Begin to post what a dead server has not, and what this one was to post and has lost sight of."""
        left = await self._store.outbox.left(self._owner)
        own = {item for item in left if item.poster == self._owner}
        for item in left:
            name = (item.tenant, item.task_id)
            if name not in self._posting and (item not in own or self._is_forgotten(item)):
                self._posting[name] = asyncio.create_task(self._post(*name))
        self._own_news = own

    def _is_forgotten(self, item: PendingPost) -> bool:
        """Whether nobody here is about to tell of our own news: they were there a round ago, and no turn goes on."""
        turns = self._turns.of(self._store.for_tenant(item.tenant))
        return item in self._own_news and not turns.is_at_work(item.task_id)

    async def _post(self, tenant: str, task_id: str) -> None:
        """Post the news of a task that are left; what does not succeed, the next round finds again."""
        try:
            await self._turns.of(self._store.for_tenant(tenant)).post_left(task_id)
        except HoldfastError as error:
            log.warning("news of task %s cannot be posted yet: %s", task_id, error)
        finally:
            del self._posting[tenant, task_id]

    async def _settle(self, orphan: Orphan) -> None:
        """Take an orphan up or fail it once its session is free; what does not succeed, the next round finds again."""
        name, store = orphan.task.task_id, self._store.for_tenant(orphan.tenant)
        try:
            async with self._queue.hold(store, orphan.task.session_id, f"{self._owner}:{name}") as held:
                if not self._adopts:
                    return
                still = [found.task for found in await store.tasks.orphans() if found.task.task_id == name]
                for task in still:
                    log.warning("task %s was left behind by a server that died", name)
                    await self._turns.of(store).post_left(name)
                    # In the same hold: what has come since waits behind it.
                    await (self._again if records.underway(task) else self._run)(store, task, held)
        except HoldfastError as error:
            log.warning("task %s cannot be settled yet: %s", name, error)
        finally:
            del self._underway[orphan.tenant, name]

    async def _run(self, store: Store, task: Task, held: SessionHold) -> None:
        """Run what was accepted and not begun."""
        if await conversation.next_message(store, task) is None:
            await self._fail(store, task, held, INTERRUPTED, again=True)
            return
        task = await self._adopted(store, task, held, {})
        await self._turns.of(store).take_up(task, held, after_seconds=0, interrupted=False)

    async def _again(self, store: Store, task: Task, held: SessionHold) -> None:
        """Begin a turn again that was under way, or fail it."""
        tries = records.tries(task)
        if tries >= len(self._timing.pauses):
            await self._fail(store, task, held, GIVEN_UP.format(times=tries + 1), again=False)
            return
        if not self._resume or await conversation.unanswered(store, task) is None:
            await self._fail(store, task, held, INTERRUPTED, again=True)
            return
        note = records.message_record(agent_message(task, (TextPart(TAKEN_UP),), self._ids))
        counted = {"tries": tries + 1, "statusMessage": note, "underway": True}
        task = await self._adopted(store, task, held, counted, session_status="interrupted")
        await self._turns.of(store).take_up(task, held, after_seconds=self._timing.pauses[tries], interrupted=True)

    async def _adopted(
        self,
        store: Store,
        task: Task,
        held: SessionHold,
        changes: dict[str, Any],
        session_status: SessionStatus | None = None,
    ) -> Task:
        """The task as ours, if nobody has changed it since it was found."""
        key = self._ids()
        return await until_written(
            lambda: store.tasks.update(
                task,
                TaskState.SUBMITTED,
                changes,
                lease=held.lease,
                owner=self._owner,
                session_status=session_status,
                version=task.version,
                idempotency_key=key,
            )
        )

    async def _fail(self, store: Store, task: Task, held: SessionHold, why: str, *, again: bool) -> None:
        """End a task without an answer; `again` says that its message runs again if it is delivered again."""
        ending = cut_ending(task, TaskState.FAILED, why, await text_so_far(store, task), self._ids)
        if again:
            ending = replace(ending, changes=ending.changes | records.INTERRUPTED)
        ended = await record(store, task, ending, held.lease, session_status="failed")
        self._turns.of(store).tell(task, ended)
