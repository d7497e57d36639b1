"""Turns over the store: a message is recorded with its task, run once, and answered with how its task stands.

The session is the conversation's, found by its context and never by a task. A message is known by its context, its
id and its body: delivered again it finds its first task; the same id with another body is another message. What was
accepted goes on whether or not the client stays.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from holdfast.a2a import records, rpc
from holdfast.a2a.endings import broken_off
from holdfast.a2a.persist import until_written
from holdfast.a2a.rpc import RpcError
from holdfast.a2a.runner import CANCELED, TurnRunner
from holdfast.a2a.wire import Message, SendRequest, TaskRequest, TaskView
from holdfast.core import IdSource, NewEvent, Task, TaskState, types
from holdfast.core.errors import Closing, NotFound, OutcomeUnknown, TaskEnded
from holdfast.core.ids import check_name, session_id_for
from holdfast.store import Store
from holdfast.store.tasks import Begun

FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5
SECONDS_TO_RECORD = 2.0

Result = TypeVar("Result")

log = logging.getLogger("holdfast.a2a")


def session_key(agent: str, context_id: str) -> str:
    """The stable name of a conversation."""
    return f"agent:{agent}:a2a:{context_id}"


def delivery_key(message: Message) -> str:
    """What two deliveries of one message have in common, and no other message has."""
    canonical = json.dumps(records.message_record(message), sort_keys=True)
    return "a2a:" + hashlib.sha256(canonical.encode()).hexdigest()


class Turns:
    """Accepts messages for one agent and tells how their tasks stand."""

    def __init__(self, store: Store, runner: TurnRunner, *, agent: str, owner: str, ids: IdSource) -> None:
        self._store = store
        self._runner = runner
        self._agent = agent
        self._owner = owner
        self._ids = ids
        self._underway: set[asyncio.Task[Any]] = set()
        self._runs: dict[str, asyncio.Task[None]] = {}
        self._stopping = False

    async def send(self, request: SendRequest) -> TaskView:
        """Record a message and run its turn; how its task stands now, or at its end."""
        if self._stopping:
            raise Closing("the server is stopping")
        message = await self._placed(request.message)
        assert message.context_id is not None
        key = session_key(self._agent, message.context_id)
        entry = await self._store.keys.resolve(key, session_id=session_id_for(key), agent=self._agent)
        # Recorded and run even if this request is cancelled now: a task must not be left without its turn.
        task = await asyncio.shield(self._go(self._accept(entry.session_id, message.context_id, message)))
        if request.wait:
            task = await self._ended(task)
        return await self._view(task, request.history_length)

    async def get(self, request: TaskRequest) -> TaskView:
        """How a task stands."""
        return await self._view(await self._known(request.task_id), request.history_length)

    async def cancel(self, request: TaskRequest) -> TaskView:
        """End a task and stop the work on it."""
        task = await self._known(request.task_id)
        ending = broken_off(task, TaskState.CANCELED, CANCELED, self._ids)
        try:
            task = await self._store.tasks.update(task, ending.state, ending.changes)
        except TaskEnded:
            raise RpcError(rpc.TASK_NOT_CANCELABLE, "Task cannot be canceled: it has ended") from None
        self._runner.cancel(task.task_id)
        return await self._view(task, request.history_length)

    async def stop(self, grace_seconds: float) -> None:
        """Accept nothing more; give what runs the grace, then break it off."""
        self._stopping = True
        await self._drain(grace_seconds)
        self._runner.stop()
        await self._drain(SECONDS_TO_RECORD)
        for left in self._underway:
            left.cancel()
        await asyncio.gather(*self._underway, return_exceptions=True)

    async def _placed(self, message: Message) -> Message:
        """The message with its context: its own, that of the task it follows, or a new one."""
        if message.task_id is None:
            return message if message.context_id else replace(message, context_id=self._ids())
        task = await self._known(message.task_id)
        if message.context_id not in (None, task.context_id):
            raise RpcError(rpc.INVALID_PARAMS, "Invalid params: the task belongs to another context")
        if task.state.terminal:
            said = f"Unsupported operation: the task has ended ({task.state}); its context is open for a new one"
            raise RpcError(rpc.UNSUPPORTED_OPERATION, said, taskId=task.task_id, contextId=task.context_id)
        return replace(message, context_id=task.context_id)

    async def _accept(self, session_id: str, context_id: str, message: Message) -> Task:
        """Record the message and its task, then start the turn; the first task of a message that was here before."""
        task_id = self._ids()
        # A turn has a task of its own: one that follows a running task runs after it and refers to it.
        followed = () if message.task_id is None else (message.task_id,)
        references = message.reference_task_ids + followed
        own = replace(message, task_id=task_id, reference_task_ids=references)
        event = NewEvent(types.MESSAGE, records.message_record(own), idempotency_key=delivery_key(message))

        def begin() -> Awaitable[Begun]:
            return self._store.tasks.begin(session_id, task_id, context_id, event, owner=self._owner)

        try:
            begun = await begin()
        except OutcomeUnknown:
            begun = await until_written(begin)
        if not begun.replayed:
            run = self._go(self._runner.run(begun.task, own))
            self._runs[task_id] = run
            run.add_done_callback(lambda _: self._runs.pop(task_id))
            run.add_done_callback(_report)
        return begun.task

    async def _ended(self, task: Task) -> Task:
        """The task once nobody is at work on it any more, here or in another process."""
        if task.task_id in self._runs:
            await asyncio.wait({self._runs[task.task_id]})
        pause = FIRST_PAUSE
        while (task := await self._store.tasks.get(task.task_id)).state.running:
            if self._store.failure is not None:
                raise self._store.failure
            if self._stopping and not self._underway:
                raise Closing("the server stopped before the turn ended")
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        return task

    async def _known(self, task_id: str) -> Task:
        """A task of this agent: one in a session that a key of the agent routes to, or did."""
        unknown = RpcError(rpc.TASK_NOT_FOUND, "Task not found", taskId=task_id)
        try:
            task = await self._store.tasks.get(check_name(task_id, "a task id"))
        except NotFound:
            raise unknown from None
        routes = await self._store.keys.routes(session_key(self._agent, task.context_id))
        if task.session_id not in {route.session_id for route in routes}:
            raise unknown
        return task

    async def _view(self, task: Task, history_length: int | None) -> TaskView:
        seq = records.message_seq(task)
        if seq is None or history_length == 0:
            return records.view(task)
        events = await self._store.read(task.session_id, after=seq - 1, limit=1)
        return records.view(task, tuple(filter(None, map(records.message_in, events))))

    async def _drain(self, seconds: float) -> None:
        """Wait until nothing is under way, or the time is up."""
        try:
            async with asyncio.timeout(seconds):
                while self._underway:
                    await asyncio.wait(self._underway)
        except TimeoutError:
            return

    def _go(self, coroutine: Coroutine[Any, Any, Result]) -> "asyncio.Task[Result]":
        """Run something that outlives the request it came from."""
        started = asyncio.create_task(coroutine)
        self._underway.add(started)
        started.add_done_callback(self._underway.discard)
        return started


def _report(run: "asyncio.Task[None]") -> None:
    if not run.cancelled() and run.exception() is not None:
        log.critical("a turn could not be brought to its end", exc_info=run.exception())
