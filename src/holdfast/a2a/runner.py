"""Runs turns, each from its place in the session's queue to its recorded end.

Whatever the handler does, the task ends: completed with the answer, or failed with a reason. The end is durable
before anybody is told. A turn that was fenced off does not write its answer.
"""

import asyncio
import logging
from pathlib import Path

from holdfast.a2a import conversation
from holdfast.a2a.endings import Ending, answered, broken_off, record
from holdfast.a2a.handler import Handler, Turn
from holdfast.a2a.persist import until_written
from holdfast.a2a.turn_queue import LEASE_MS, TurnQueue
from holdfast.a2a.wire import Message, text_of
from holdfast.core import HoldfastError, IdSource, Lease, Task, TaskState
from holdfast.core.errors import LeaseLost, TaskEnded
from holdfast.store import Store

RENEW_SECONDS = 1.0

STOPPED = "the turn was broken off: the server stopped"
CANCELED = "the turn was canceled"
TAKEN_OVER = "the turn was broken off: another process took over its session"

log = logging.getLogger("holdfast.a2a")


class TurnRunner:
    """The turns that run in this process."""

    def __init__(
        self, store: Store, handler: Handler, queue: TurnQueue, *, owner: str, workspace: Path, ids: IdSource
    ) -> None:
        self._store = store
        self._handler = handler
        self._queue = queue
        self._owner = owner
        self._workspace = workspace
        self._ids = ids
        self._work: dict[str, asyncio.Task[str]] = {}
        self._stopping = False

    async def run(self, task: Task, message: Message) -> None:
        """Bring a task to its end; raises only what keeps even that from being written."""
        try:
            async with self._queue.hold(self._store, task.session_id, self._holder(task)) as lease:
                await self._run(task, message, lease)
        except LeaseLost:
            log.warning("task %s: %s", task.task_id, TAKEN_OVER)
            await self._fail(task, TAKEN_OVER)
        except HoldfastError as error:
            log.exception("task %s could not be brought to its end", task.task_id)
            await self._fail(task, error.message)

    def cancel(self, task_id: str) -> None:
        """Stop the work on a task, if it goes on here."""
        if task_id in self._work:
            self._work[task_id].cancel()

    def stop(self) -> None:
        """Break off every turn that runs or waits; each fails with a reason."""
        self._stopping = True
        for work in self._work.values():
            work.cancel()

    async def _run(self, task: Task, message: Message, lease: Lease) -> None:
        if self._stopping:
            await record(self._store, task, self._broken_off(task, STOPPED), lease)
            return
        past = await conversation.before(self._store, task.session_id, task.task_id)
        changes = {"messageSeq": past.message_seq}
        try:
            await until_written(lambda: self._store.tasks.update(task, TaskState.WORKING, changes, lease=lease))
        except TaskEnded:
            return  # it was canceled, or given up for dead, while it waited
        turn = Turn(
            task.context_id,
            task.task_id,
            message.message_id,
            text_of(message.parts),
            message.parts,
            past.history,
            self._workspace,
        )
        await record(self._store, task, await self._work_on(task, turn, lease), lease)

    async def _work_on(self, task: Task, turn: Turn, lease: Lease) -> Ending:
        work = asyncio.create_task(self._collect(turn))
        keeper = asyncio.create_task(self._keep(task, lease, work))
        self._work[task.task_id] = work
        try:
            await asyncio.wait({work})
        finally:
            del self._work[task.task_id]
            keeper.cancel()
            work.cancel()
        if work.cancelled():
            return self._broken_off(task, STOPPED if self._stopping else CANCELED)
        error = work.exception()
        if error is None:
            return answered(task, work.result(), self._ids)
        log.error("the agent failed in task %s", task.task_id, exc_info=error)
        said = error.message if isinstance(error, HoldfastError) else type(error).__name__
        return self._broken_off(task, f"the agent failed: {said}")

    async def _collect(self, turn: Turn) -> str:
        return "".join([piece async for piece in self._handler(turn)])

    async def _keep(self, task: Task, lease: Lease, work: "asyncio.Task[str]") -> None:
        """Renew the lease while the work goes on; stop the work if the lease is lost or the task is ended elsewhere."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await self._store.leases.renew(lease, LEASE_MS)
                if (await self._store.tasks.get(task.task_id)).state.terminal:
                    work.cancel()
            except LeaseLost:
                work.cancel()
            except HoldfastError as error:
                log.warning("the lease of session %s could not be renewed: %s", task.session_id, error)

    async def _fail(self, task: Task, why: str) -> None:
        async with self._queue.hold(self._store, task.session_id, self._holder(task)) as lease:
            await record(self._store, task, self._broken_off(task, why), lease)

    def _broken_off(self, task: Task, why: str) -> Ending:
        return broken_off(task, TaskState.FAILED, why, self._ids)

    def _holder(self, task: Task) -> str:
        # One holder per turn: two turns of one process exclude each other as two processes do.
        return f"{self._owner}:{task.task_id}"
