"""Runs turns, each from its place in the session's queue to its recorded rest.

Whatever the handler does, the task comes to rest: completed with the answer, asking back, or failed with a reason. The
rest is durable before anybody is told. A turn is begun in the store, by the task's owner and with the session's lease,
once for each time that was counted there. Whoever lost either changes nothing about the task. A turn that is cut by a
stop, or by a store that went away, is given back, to be taken up where it can be.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.a2a.files.files import Files
from holdfast.a2a.handler import Handler, Turn
from holdfast.a2a.protocol.wire import Envelope, text_of
from holdfast.a2a.turns import conversation, records
from holdfast.a2a.turns.endings import TurnEnding, answer_ending, cut_ending, record
from holdfast.a2a.turns.outputs import Outputs, keep_text, text_so_far
from holdfast.a2a.turns.task_updates import Channel
from holdfast.a2a.turns.timing import TurnTiming
from holdfast.a2a.turns.turn_queue import SessionHold, TurnQueue
from holdfast.core import HoldfastError, IdSource, Task, TaskState
from holdfast.core.errors import LeaseLost, StaleState, TaskEnded
from holdfast.core.race import is_set_within
from holdfast.core.retry import PASSING, until_written
from holdfast.store import Store

SECONDS_TO_GIVE_BACK = 1.0

STOPPED = "the turn was broken off: the server stopped"
CANCELED = "the turn was canceled"
ERASED = "the turn was not begun: its message was erased"

Hold = Callable[[], AbstractAsyncContextManager[SessionHold]]

log = logging.getLogger("holdfast.a2a")


class _Left(Exception):
    """The turn is not for this process to end: it is given back."""


class TurnRunner:
    """The turns that run in this process; with `resume`, one that is cut by a stop may be begun again elsewhere."""

    def __init__(
        self,
        store: Store,
        handler: Handler,
        queue: TurnQueue,
        *,
        owner: str,
        workspace: Path,
        files: Files,
        resume: bool,
        ids: IdSource,
        timing: TurnTiming,
    ) -> None:
        self._store = store
        self._timing = timing
        self._handler = handler
        self._queue = queue
        self._owner = owner
        self._workspace = workspace
        self._files = files
        self._resume = resume
        self._ids = ids
        self._waiting: set[asyncio.Task[Any]] = set()
        self._work: dict[str, asyncio.Task[TurnEnding]] = {}
        self._at_work: dict[str, str] = {}
        """The task that runs in a session, of those that run here."""
        self._interrupted: set[str] = set()
        self._stopping = asyncio.Event()
        self._broken_off = False

    async def run(self, channel: Channel) -> None:
        """Bring a task to rest, and tell its news; raises only what keeps even that from being written."""

        async def in_turn() -> None:
            async with AsyncExitStack() as stack:
                await self._run(channel, await self._wait_for(channel.task, stack))

        await self._to_its_end(channel, in_turn(), lambda: self._hold(channel.task))

    async def take_up(self, channel: Channel, held: SessionHold, *, after_seconds: float, interrupted: bool) -> None:
        """The same for a task that another process accepted and whose session is held already; `interrupted` says
        that its turn was begun before."""

        async def at_once() -> None:
            await is_set_within(self._stopping, after_seconds)
            await self._run(channel, held, interrupted=interrupted)

        await self._to_its_end(channel, at_once(), lambda: nullcontext(held))

    def cancel(self, task_id: str) -> None:
        """Stop the work on a task, if it goes on here."""
        if task_id in self._work:
            self._work[task_id].cancel()

    def interrupt(self, session_id: str) -> str | None:
        """Break off the turn that runs in a session here, as the death of this server would: it is given back. The
        task that it was of; None if there is none."""
        task_id = self._at_work.get(session_id)
        if task_id is not None:
            self._interrupted.add(task_id)
            self._work[task_id].cancel()
        return task_id

    def begin_no_more(self) -> None:
        """Begin no turn from now on: those that wait are given back."""
        self._stopping.set()
        for waiting in self._waiting:
            waiting.cancel()

    def break_off(self) -> None:
        """Break off every turn that runs; each is given back, or fails with a reason if it cannot be begun again."""
        self.begin_no_more()
        self._broken_off = True
        for work in self._work.values():
            work.cancel()

    async def _wait_for(self, task: Task, stack: AsyncExitStack) -> SessionHold:
        """The task's session, as soon as it is this task's turn."""
        this = asyncio.current_task()
        assert this is not None
        if self._stopping.is_set():
            raise _Left("the server stops")
        self._waiting.add(this)
        try:
            return await stack.enter_async_context(self._hold(task))
        finally:
            self._waiting.discard(this)

    async def _to_its_end(self, channel: Channel, run: Coroutine[Any, Any, None], hold: Hold) -> None:
        task = channel.task
        try:
            await run
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
            await self._give_back(task)
        except (_Left, LeaseLost, *PASSING) as error:
            log.warning("task %s is given back: %s", task.task_id, error)
            await self._give_back(task)
        except Exception as error:
            log.exception("task %s could not be brought to its end", task.task_id)
            await self._fail(channel, error.message if isinstance(error, HoldfastError) else type(error).__name__, hold)
        finally:
            channel.close()

    async def _run(self, channel: Channel, held: SessionHold, *, interrupted: bool = False) -> None:
        """Answer the message that a task is at, and whatever else it was sent by then."""
        try:
            while await self._answer(channel, held, interrupted=interrupted):
                interrupted = False
        except _Left:
            await self._do_not_count(channel.task, held)
            raise

    async def _answer(self, channel: Channel, held: SessionHold, *, interrupted: bool) -> bool:
        """Answer one message; whether another may wait behind it."""
        found = await self._begin(channel, held, interrupted)
        if found is None:
            return False
        if found.message is None:
            ending = self._without_message(channel.task)
        else:
            ending = await self._work_on(channel, self._turn(channel.task, found, held, interrupted), held)
        channel.record(await record(self._store, channel.task, ending, held.lease))
        return channel.task.state.running

    async def _begin(self, channel: Channel, held: SessionHold, interrupted: bool) -> conversation.Conversation | None:
        """What a turn is to answer, once its begin is recorded; None if there is nothing for this process to begin."""
        task_id = channel.task.task_id
        while True:
            if self._stopping.is_set():
                raise _Left("the server stops")
            task = await until_written(lambda: self._store.tasks.get(task_id))
            if not _is_to_begin(task, interrupted):
                channel.record(task)
                return None
            found = await until_written(lambda now=task: conversation.before(self._store, now))  # type: ignore[misc]
            if found.message is None:
                channel.record(task)
                return found
            changes = records.at_work(task, found.message_seq) | ({} if interrupted else records.FIRST_TRY)
            try:
                channel.record(await self._record_begin(task, changes, held, interrupted))
            except StaleState:
                continue
            except TaskEnded:  # it was canceled, or given up for dead, while it waited
                channel.record(await self._store.tasks.get(task_id))
                return None
            return found

    async def _record_begin(self, task: Task, changes: dict[str, Any], held: SessionHold, interrupted: bool) -> Task:
        key = self._ids()  # so that a begin whose answer was lost is known for ours
        return await until_written(
            lambda: self._store.tasks.update(
                task,
                TaskState.WORKING,
                changes,
                lease=held.lease,
                owned_by=self._owner,
                version=task.version,
                session_status="active" if interrupted else None,
                idempotency_key=key,
            )
        )

    def _turn(self, task: Task, found: conversation.Conversation, held: SessionHold, interrupted: bool) -> Turn:
        message = found.message
        assert message is not None
        envelope = message.envelope or Envelope()
        return Turn(
            task.context_id,
            task.task_id,
            message.message_id,
            text_of(message.parts),
            message.parts,
            self._files.attachments(message.parts),
            tuple(replace(said, attachments=self._files.attachments(said.parts)) for said in found.history),
            self._workspace,
            self._store.under(held.lease),
            task.session_id,
            held.lease,
            message.metadata,
            interrupted,
            message.extensions,
            envelope.metadata,
            envelope.output_modes,
            found.message_seq,
        )

    async def _work_on(self, channel: Channel, turn: Turn, held: SessionHold) -> TurnEnding:
        before = await text_so_far(self._store, channel.task)  # of an interrupted turn: what is said now replaces it
        files = self._files.within(turn.store)
        outputs = Outputs(turn, channel, files, before.artifact_id if before else self._ids(), self._ids)
        work = asyncio.create_task(outputs.collect(self._handler))
        watchers = [
            asyncio.create_task(self._watch(channel.task, held, work)),
            asyncio.create_task(keep_text(self._store, channel, turn.lease, self._timing.keep_seconds)),
        ]
        self._work[turn.task_id] = work
        self._at_work[turn.session_id] = turn.task_id
        try:
            await asyncio.wait({work})
        finally:
            del self._work[turn.task_id], self._at_work[turn.session_id]
            for each in (work, *watchers):
                each.cancel()
        interrupted = turn.task_id in self._interrupted
        self._interrupted.discard(turn.task_id)
        if work.cancelled():
            return self._cut(channel, held, interrupted)
        error = work.exception()
        if error is None:
            return work.result()
        if isinstance(error, LeaseLost) or (self._resume and isinstance(error, PASSING)):
            raise error
        if isinstance(error, TaskEnded):
            return self._failed(channel, CANCELED)
        log.error("the agent failed in task %s", turn.task_id, exc_info=error)
        said = error.message if isinstance(error, HoldfastError) else type(error).__name__
        return self._failed(channel, f"the agent failed: {said}")

    def _cut(self, channel: Channel, held: SessionHold, interrupted: bool) -> TurnEnding:
        """How a turn ends whose work was cancelled; raises if it is not for this process to end."""
        if held.lost.is_set():
            raise LeaseLost(f"the lease of session {held.lease.session_id!r} was lost", fence=held.lease.fence)
        given_back = self._broken_off or interrupted
        if given_back and self._resume:
            raise _Left("the turn was interrupted" if interrupted else "the server stops")
        if given_back:
            ending = self._failed(channel, STOPPED)
            return replace(ending, changes=ending.changes | records.INTERRUPTED)
        return self._failed(channel, CANCELED)

    async def _watch(self, task: Task, held: SessionHold, work: "asyncio.Task[TurnEnding]") -> None:
        """Stop the work if the lease is lost, or the task is ended elsewhere."""
        while not held.lost.is_set():
            await is_set_within(held.lost, self._timing.look_seconds)
            with suppress(HoldfastError):
                if (await self._store.tasks.get(task.task_id)).state.terminal:
                    work.cancel()
        work.cancel()

    async def _fail(self, channel: Channel, why: str, hold: Hold) -> None:
        task = channel.task
        try:
            async with hold() as held:
                # Without its text: that may be what could not be written.
                ending = cut_ending(task, TaskState.FAILED, why, None, self._ids)
                channel.record(await record(self._store, task, ending, held.lease, owned_by=self._owner))
        except LeaseLost as error:
            log.warning("task %s is given back: %s", task.task_id, error)
            await self._give_back(task)

    async def _give_back(self, task: Task) -> None:
        """Leave a task to whoever takes it, if it is still ours: for as long as that takes, or for a moment if the
        server stops; what is still ours then is found when it has gone."""
        try:
            async with asyncio.timeout(SECONDS_TO_GIVE_BACK if self._stopping.is_set() else None):
                await until_written(lambda: self._store.tasks.give_back(task, self._owner))
        except (HoldfastError, TimeoutError) as error:
            log.warning("task %s could not be given back: %s", task.task_id, error or type(error).__name__)

    async def _do_not_count(self, task: Task, held: SessionHold) -> None:
        """Take back the try of a turn that was cut by a stop: the bound is for turns that their servers die in."""
        tries = records.tries(task)
        if not tries or not task.state.running:
            return
        try:
            async with asyncio.timeout(SECONDS_TO_GIVE_BACK):
                changes = {"tries": tries - 1}
                await self._store.tasks.update(task, task.state, changes, lease=held.lease, owned_by=self._owner)
        except (HoldfastError, TimeoutError) as error:
            log.warning("the try of task %s counts: %s", task.task_id, error or type(error).__name__)

    def _without_message(self, task: Task) -> TurnEnding:
        """The end of a task whose message was erased before it was begun: with what it has answered, if anything."""
        if task.state is TaskState.WORKING:
            return answer_ending(task, None, self._ids)
        return cut_ending(task, TaskState.FAILED, ERASED, None, self._ids)

    def _failed(self, channel: Channel, why: str) -> TurnEnding:
        return cut_ending(channel.task, TaskState.FAILED, why, channel.text, self._ids)

    def _hold(self, task: Task) -> AbstractAsyncContextManager[SessionHold]:
        # One holder per turn: two turns of one process exclude each other as two processes do.
        return self._queue.hold(self._store, task.session_id, f"{self._owner}:{task.task_id}")


def _is_to_begin(task: Task, interrupted: bool) -> bool:
    """Whether a turn of the task may be begun: for the first time, or again if that was counted and not begun yet."""
    if interrupted:
        return task.state is TaskState.SUBMITTED and records.underway(task)
    return task.state.running and not records.underway(task)
