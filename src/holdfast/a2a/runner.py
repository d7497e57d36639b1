"""Runs turns, each from its place in the session's queue to its recorded rest.

Whatever the handler does, the task comes to rest: completed with the answer, asking back, or failed with a reason. The
rest is durable before anybody is told. A turn that was fenced off does not write its answer.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.a2a import conversation, records
from holdfast.a2a.endings import Ending, broken_off, record
from holdfast.a2a.files import Files
from holdfast.a2a.handler import Handler, Turn
from holdfast.a2a.news import Channel
from holdfast.a2a.outputs import Outputs
from holdfast.a2a.persist import until_written
from holdfast.a2a.texts import keep_text, kept_text
from holdfast.a2a.turn_queue import LEASE_MS, TurnQueue, leased
from holdfast.a2a.wire import Envelope, Message, text_of
from holdfast.core import HoldfastError, IdSource, Lease, Task, TaskState
from holdfast.core.errors import LeaseLost, TaskEnded
from holdfast.store import Store

RENEW_SECONDS = 1.0

STOPPED = "the turn was broken off: the server stopped"
CANCELED = "the turn was canceled"
TAKEN_OVER = "the turn was broken off: another process took over its session"

UNMEANT = (STOPPED, TAKEN_OVER)

Hold = Callable[[Task], AbstractAsyncContextManager[Lease]]

log = logging.getLogger("holdfast.a2a")


class TurnRunner:
    """The turns that run in this process."""

    def __init__(
        self,
        store: Store,
        handler: Handler,
        queue: TurnQueue,
        *,
        owner: str,
        workspace: Path,
        files: Files,
        ids: IdSource,
    ) -> None:
        self._store = store
        self._handler = handler
        self._queue = queue
        self._owner = owner
        self._workspace = workspace
        self._files = files
        self._ids = ids
        self._work: dict[str, asyncio.Task[Ending]] = {}
        self._stopping = False

    async def run(self, channel: Channel, message: Message) -> None:
        """Bring a task to rest, and tell its news; raises only what keeps even that from being written."""

        async def in_turn() -> None:
            async with self._hold(channel.task) as lease:
                await self._run(channel, message, lease)

        await self._to_its_end(channel, in_turn(), self._hold)

    async def take_up(
        self, channel: Channel, message: Message, lease: Lease, *, after_seconds: float, interrupted: bool
    ) -> None:
        """The same for a task that another process accepted and whose session is held already; `interrupted` says
        that its turn was begun before."""

        async def at_once() -> None:
            await asyncio.sleep(after_seconds)
            await self._run(channel, message, lease, interrupted=interrupted)

        await self._to_its_end(channel, at_once(), self._leased)

    async def _to_its_end(self, channel: Channel, run: Coroutine[Any, Any, None], hold: Hold) -> None:
        task = channel.task
        try:
            await run
        except LeaseLost:
            log.warning("task %s: %s", task.task_id, TAKEN_OVER)
            await self._fail(channel, TAKEN_OVER, hold)
        except HoldfastError as error:
            log.exception("task %s could not be brought to its end", task.task_id)
            await self._fail(channel, error.message, hold)
        finally:
            channel.close()

    def cancel(self, task_id: str) -> None:
        """Stop the work on a task, if it goes on here."""
        if task_id in self._work:
            self._work[task_id].cancel()

    def stop(self) -> None:
        """Break off every turn that runs or waits; each fails with a reason."""
        self._stopping = True
        for work in self._work.values():
            work.cancel()

    async def _run(self, channel: Channel, message: Message, lease: Lease, *, interrupted: bool = False) -> None:
        """Answer a message, and whatever else the task was sent by then."""
        following: Message | None = message
        while following is not None:
            await self._answer(channel, following, lease, interrupted=interrupted)
            running = channel.task.state.running
            following = await conversation.next_message(self._store, channel.task) if running else None
            interrupted = False

    async def _answer(self, channel: Channel, message: Message, lease: Lease, *, interrupted: bool) -> None:
        task = channel.task
        if self._stopping:
            channel.record(await record(self._store, task, self._broken_off(channel, STOPPED), lease))
            return
        past = await conversation.before(self._store, task.session_id, task.task_id)
        changes = records.at_work(task, past.message_seq) | ({} if interrupted else records.NO_STATUS)
        status = "active" if interrupted else None
        try:
            working = await until_written(
                lambda: self._store.tasks.update(task, TaskState.WORKING, changes, lease=lease, session_status=status)
            )
        except TaskEnded:  # it was canceled, or given up for dead, while it waited
            channel.record(await self._store.tasks.get(task.task_id))
            return
        channel.record(working)
        envelope = message.envelope or Envelope()
        turn = Turn(
            task.context_id,
            task.task_id,
            message.message_id,
            text_of(message.parts),
            message.parts,
            self._files.attachments(message.parts),
            tuple(replace(said, attachments=self._files.attachments(said.parts)) for said in past.history),
            self._workspace,
            self._store,
            task.session_id,
            lease,
            message.metadata,
            interrupted,
            message.extensions,
            envelope.metadata,
            envelope.output_modes,
        )
        ending = await self._work_on(channel, turn)
        channel.record(await record(self._store, channel.task, ending, lease))

    async def _work_on(self, channel: Channel, turn: Turn) -> Ending:
        before = await kept_text(self._store, channel.task)  # of an interrupted turn: what is said now replaces it
        outputs = Outputs(turn, channel, self._files, before.artifact_id if before else self._ids(), self._ids)
        work = asyncio.create_task(outputs.collect(self._handler))
        keepers = [
            asyncio.create_task(self._keep(channel.task, turn.lease, work)),
            asyncio.create_task(keep_text(self._store, channel, turn.lease)),
        ]
        self._work[turn.task_id] = work
        try:
            await asyncio.wait({work})
        finally:
            del self._work[turn.task_id]
            for each in (work, *keepers):
                each.cancel()
        if work.cancelled():
            return self._broken_off(channel, STOPPED if self._stopping else CANCELED)
        error = work.exception()
        if error is None:
            return work.result()
        if isinstance(error, LeaseLost):
            raise error
        if isinstance(error, TaskEnded):
            return self._broken_off(channel, CANCELED)
        log.error("the agent failed in task %s", turn.task_id, exc_info=error)
        said = error.message if isinstance(error, HoldfastError) else type(error).__name__
        return self._broken_off(channel, f"the agent failed: {said}")

    async def _keep(self, task: Task, lease: Lease, work: "asyncio.Task[Ending]") -> None:
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

    async def _fail(self, channel: Channel, why: str, hold: Hold) -> None:
        task = channel.task
        async with hold(task) as lease:
            # Without its text: that may be what could not be written, or not be this process's any more.
            ending = broken_off(task, TaskState.FAILED, why, None, self._ids)
            channel.record(await record(self._store, task, _resumable(ending, why), lease))

    def _broken_off(self, channel: Channel, why: str) -> Ending:
        return _resumable(broken_off(channel.task, TaskState.FAILED, why, channel.text, self._ids), why)

    def _hold(self, task: Task) -> AbstractAsyncContextManager[Lease]:
        return self._queue.hold(self._store, task.session_id, self._holder(task))

    def _leased(self, task: Task) -> AbstractAsyncContextManager[Lease]:
        return leased(self._store, task.session_id, self._holder(task))

    def _holder(self, task: Task) -> str:
        # One holder per turn: two turns of one process exclude each other as two processes do.
        return f"{self._owner}:{task.task_id}"


def _resumable(ending: Ending, why: str) -> Ending:
    """An end that nobody meant says so: the message may be sent again, and runs again."""
    return replace(ending, changes=ending.changes | records.INTERRUPTED) if why in UNMEANT else ending
