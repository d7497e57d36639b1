"""Turns over the store: a message is recorded with its task, run once, and answered with how its task stands.

The session is the conversation's, found by its context and never by a task. What was accepted goes on whether or not
the client stays, and whoever follows it misses nothing. A stream that begins with the task has waited a moment first:
an agent that answers at once with a plain message has no task to show.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar

from holdfast.a2a.files.files import Files, item_with_files, message_with_files, task_with_files
from holdfast.a2a.protocol import rpc
from holdfast.a2a.protocol.rpc import RpcError
from holdfast.a2a.protocol.wire import (
    Artifact,
    ListRequest,
    Message,
    News,
    PushConfig,
    SendRequest,
    Sent,
    TaskPage,
    TaskRequest,
    TaskView,
)
from holdfast.a2a.push.push import Push, TaskPushConfigs
from holdfast.a2a.turns import records
from holdfast.a2a.turns.acceptance import Acceptance, PlacedMessage
from holdfast.a2a.turns.endings import cut_ending
from holdfast.a2a.turns.keys import agent_prefix
from holdfast.a2a.turns.outputs import text_so_far
from holdfast.a2a.turns.runner import CANCELED, TurnRunner
from holdfast.a2a.turns.task_lists import TaskLists
from holdfast.a2a.turns.task_updates import Channel, changes, from_the_log
from holdfast.a2a.turns.turn_queue import SessionHold
from holdfast.core import IdSource, Task, TaskState
from holdfast.core.errors import Closing, NotFound, SessionGone, StaleState, TaskEnded
from holdfast.core.ids import check_name
from holdfast.store import Store

SECONDS_TO_RECORD = 2.0

Result = TypeVar("Result")
TurnObserver = Callable[[Task, float], None]
"""Hears of a turn that is over: its task as it was last recorded, and the seconds since it was accepted or taken up."""

log = logging.getLogger("holdfast.a2a")


class Turns:
    """Accepts messages for one agent and tells how their tasks stand."""

    def __init__(
        self,
        store: Store,
        runner: TurnRunner,
        *,
        files: Files,
        push: Push,
        configs: TaskPushConfigs,
        agent: str,
        owner: str,
        reply_seconds: float,
        post_seconds: float,
        ids: IdSource,
        rested: TurnObserver | None = None,
    ) -> None:
        self.configs = configs
        self.files = files
        self._store = store
        self._runner = runner
        self._push = push
        self._agent = agent
        self._owner = owner
        self._reply_seconds = reply_seconds
        self._post_seconds = post_seconds
        self._ids = ids
        self._rested = rested
        self._acceptance = Acceptance(store, files, agent=agent, owner=owner, ids=ids)
        self._lists = TaskLists(store, agent)
        self._underway: set[asyncio.Task[Any]] = set()
        self._channels: dict[str, Channel] = {}
        self._stopping = asyncio.Event()

    async def send(self, request: SendRequest) -> Sent:
        """Record a message and run its turn; how its task stands now, or once it rests, or a plain reply."""
        task, _ = await self._accepted(request)
        if not request.wait:
            return await self._view(task, request.history_length)
        async for _ in self._news(task, _rests):
            pass
        task = await self._store.tasks.get(task.task_id)
        reply = records.reply(task)
        return (
            await self._view(task, request.history_length)
            if reply is None
            else await message_with_files(self.files, reply)
        )

    async def answer(self, request: SendRequest) -> Task:
        """Record an answer to a task that waits for one, and have its turn go on; the task as it was then recorded."""
        task, _ = await self._accepted(request)
        return task

    async def stream(self, request: SendRequest) -> AsyncGenerator[News]:
        """Record a message and run its turn; its task as it was accepted (or as it stands, if the message was here
        before), and then its news until it rests, or a plain reply."""
        task, begun = await self._accepted(request)
        async for item in self._follow(task, request.history_length, _rests, begun, reply_seconds=self._reply_seconds):
            yield item

    async def get(self, request: TaskRequest) -> TaskView:
        """How a task stands."""
        return await self._view(await self.known(request.task_id), request.history_length)

    async def list(self, request: ListRequest) -> TaskPage:
        """The agent's tasks that fit."""
        page = await self._lists.page(request)
        views = tuple([await task_with_files(self.files, view) for view in page.tasks])
        return replace(page, tasks=views)

    async def cancel(self, request: TaskRequest) -> TaskView:
        """End a task and stop the work on it."""
        task, ended = await self._canceled(request.task_id)
        if task.task_id in self._channels:
            self._channels[task.task_id].record(ended)
        elif not task.state.running:
            self.tell(task, ended)
        self._runner.cancel(task.task_id)
        return await self._view(ended, request.history_length)

    async def _canceled(self, task_id: str) -> tuple[Task, Task]:
        """A task as it stood when it was canceled, and as it stands since."""
        while True:
            task = await self.known(task_id)
            ending = cut_ending(task, TaskState.CANCELED, CANCELED, await self._text(task), self._ids)
            try:
                return task, await self._store.tasks.update(
                    *(task, ending.state, ending.changes),
                    messages=ending.messages,
                    owner=None if task.state.running else self._owner,  # who tells of it
                    version=task.version,
                )
            except StaleState:
                continue
            except TaskEnded:
                raise RpcError(rpc.TASK_NOT_CANCELABLE, "Task cannot be canceled: it has ended") from None

    async def subscribe(self, request: TaskRequest) -> AsyncGenerator[News]:
        """A task as it stands, and then its news until it ends: through every question back, or, if that is what was
        asked for, only to the next."""
        task = await self.known(request.task_id)
        if task.state.terminal:
            said = f"Unsupported operation: the task has ended ({task.state}), there is nothing to follow"
            raise RpcError(rpc.UNSUPPORTED_OPERATION, said, taskId=task.task_id)
        rest = None if task.state.running else task.version

        def over(now: Task) -> bool:
            return now.state.terminal or (not request.to_its_end and _rests(now) and now.version != rest)

        async for item in self._follow(task, request.history_length, over):
            yield item

    async def known(self, task_id: str) -> Task:
        """A task of this agent: one in a session that a key of the agent routes to, or did."""
        unknown = rpc.task_not_found(task_id)
        try:
            task = await self._store.tasks.get(check_name(task_id, "a task id"))
            routes = await self._store.keys.of_session(task.session_id)
        except (NotFound, SessionGone):
            raise unknown from None
        if not any(route.key.startswith(agent_prefix(self._agent)) for route in routes):
            raise unknown
        return task

    async def take_up(self, task: Task, held: SessionHold, *, after_seconds: float, interrupted: bool) -> None:
        """Run a turn to its end that a process died in, or before it."""
        channel = self._open(task)
        run = self._runner.take_up(channel, held, after_seconds=after_seconds, interrupted=interrupted)
        await asyncio.wait({self._start(channel, run)})

    async def post_left(self, task_id: str) -> None:
        """Post how a task stands, wherever a process that died has not, or this one was to and has not begun to."""
        await self._push.post_left(task_id)

    def interrupt(self, session_id: str) -> str | None:
        """Break off the turn that runs in a session here, as the death of this server would; its task, if there is
        one, is found by the next round of the recovery."""
        return self._runner.interrupt(session_id)

    def is_at_work(self, task_id: str) -> bool:
        """Whether a turn of the task is under way here, whose end will be told."""
        return task_id in self._channels

    def tell(self, before: Task, after: Task) -> None:
        """Post the news of a task that came to rest without a turn."""
        channel = Channel(before)
        channel.record(after)
        self._go(self._post(channel))

    async def stop(self, grace_seconds: float) -> None:
        """Accept and begin nothing more; give what runs the grace, then break it off."""
        self._stopping.set()
        self._runner.begin_no_more()
        await self._drain(grace_seconds)
        self._runner.break_off()
        await self._drain(SECONDS_TO_RECORD)
        for left in self._underway:
            left.cancel()
        await asyncio.gather(*self._underway, return_exceptions=True)
        await self._push.close(self._post_seconds)

    async def _accepted(self, request: SendRequest) -> tuple[Task, Channel | None]:
        """The task of a message, begun now, with the channel of its turn, or when the message was first here."""
        if self._stopping.is_set():
            raise Closing("the server is stopping")
        message = request.message
        followed = None if message.task_id is None else await self.known(message.task_id)
        if request.push is not None:
            await self.configs.check(request.push)
        found = await self._acceptance.look(
            message, followed, request.idempotency_key, request.caller, request.session_key, request.answers
        )
        if isinstance(found, Task):
            await self._keep_place(found, request.push, fresh=False)
            return found, None
        # Recorded and run even if this request is cancelled now: a task must not be left without its turn.
        return await asyncio.shield(self._go(self._accept(found, request.push)))

    async def _accept(self, offer: PlacedMessage, push: PushConfig | None) -> tuple[Task, Channel | None]:
        accepted = await self._acceptance.accept(offer)
        channel: Channel | None = None
        try:
            await self._keep_place(accepted.task, push, fresh=accepted.fresh)
        finally:
            if accepted.run:
                channel = self._open(accepted.task)
                self._start(channel, self._runner.run(channel))
        return accepted.task, channel

    async def _keep_place(self, task: Task, push: PushConfig | None, *, fresh: bool) -> None:
        """Have the news of a message's task posted, also those from before its place was kept: another server may have
        taken the task up, or the message was here before and its first delivery did not come so far."""
        if push is not None:
            new = await self.configs.keep(task.task_id, push, self._owner)
            if new or not fresh:
                await self.post_left(task.task_id)

    async def _follow(
        self,
        task: Task,
        history_length: int | None,
        over: Callable[[Task], bool],
        begun: Channel | None = None,
        *,
        reply_seconds: float = 0,
    ) -> AsyncGenerator[News]:
        """A task as it stands, or as it was when the turn began that it is followed from, then its news until it is
        over; nothing is told twice or left out. A plain reply is told instead, if the turn ends with one in so many
        seconds."""
        history, kept = await self._history(task, history_length), await text_so_far(self._store, task)
        channel = begun or self._channels.get(task.task_id)
        if begun is not None:
            view, place = _with_text(task, history, None), 0
        else:
            task = await self._store.tasks.get(task.task_id) if channel is None else channel.task
            # In one go: what is told from now on is not in the view, and what was told is.
            view = _with_text(task, history, channel.text or kept if channel else kept)
            place = channel.place if channel else 0
        if channel is not None and reply_seconds:
            await channel.show(reply_seconds)
        reply = records.reply(task if channel is None else channel.task) if reply_seconds else None
        if reply is not None:
            yield await message_with_files(self.files, reply)
            return
        yield await item_with_files(self.files, view)
        if channel is not None:
            async for item in self._of_channel(channel, place):
                yield await item_with_files(self.files, item)
            task = channel.task
        async for item in self._news(task, over):
            yield await item_with_files(self.files, item)

    async def _news(self, known: Task, over: Callable[[Task], bool]) -> AsyncGenerator[News]:
        """The news of a task since it was known so, until it is over: from its channel while it runs here, else from
        the log."""
        async with aclosing(from_the_log(self._store, known, self._stopping)) as log:
            while not over(known):
                channel = self._live_channel(known)
                latest = None if channel else await anext(log)
                # Opened before its turn says anything: what it tells, the log is not to tell too.
                channel = channel or self._live_channel(known)
                if channel is not None:
                    for item in changes(known, channel.first):
                        yield item
                    async for item in self._of_channel(channel, 0):
                        yield item
                    known = channel.task
                elif latest is not None:
                    for item in changes(known, latest):
                        yield item
                    known = latest

    async def _of_channel(self, channel: Channel, place: int) -> AsyncGenerator[News]:
        """The news of a channel; the log has the rest if the turn was given back, unless this server is at its end."""
        async for item in channel.follow(place):
            yield item
        failure = self._store.failure
        if channel.task.state.running and (failure is not None or self._stopping.is_set()):
            raise failure or Closing("the server stopped before the turn ended")

    def _live_channel(self, task: Task) -> Channel | None:
        channel = self._channels.get(task.task_id)
        return None if channel is None or channel.ended else channel

    async def _view(self, task: Task, history_length: int | None) -> TaskView:
        history = await self._history(task, history_length)
        return await task_with_files(self.files, _with_text(task, history, await self._text(task)))

    async def _text(self, task: Task) -> Artifact | None:
        """The text that a running task has said so far: as it is here, or as it was last kept."""
        channel = self._live_channel(task)
        if channel is not None and channel.text is not None:
            return channel.text
        return await text_so_far(self._store, task)

    async def _history(self, task: Task, history_length: int | None) -> tuple[Message, ...]:
        return await self._lists.history(task, history_length)

    def _open(self, task: Task) -> Channel:
        """A channel for a turn that is about to run; that of the task's turn before may not be closed yet."""
        channel = self._channels[task.task_id] = Channel(task)
        return channel

    def _close(self, channel: Channel, seconds: float) -> None:
        if self._rested is not None:
            self._rested(channel.task, seconds)
        if self._channels.get(channel.task.task_id) is channel:
            del self._channels[channel.task.task_id]

    def _start(self, channel: Channel, run: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        began = time.monotonic()
        running = self._go(run)
        running.add_done_callback(lambda _: self._close(channel, time.monotonic() - began))
        running.add_done_callback(_report)
        self._go(self._post(channel))
        return running

    async def _post(self, channel: Channel) -> None:
        """Post what is recorded to those who asked for it."""
        async for task, item in channel.records():
            self._push.notify(records.view(task), item, task.version)

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


def _with_text(task: Task, history: tuple[Message, ...], text: Artifact | None) -> TaskView:
    """The task as a client is shown it, with the text that has come so far if it has not come to rest since."""
    view = records.view(task, history)
    return replace(view, artifacts=(*view.artifacts, text)) if text and task.state.running else view


def _rests(task: Task) -> bool:
    return not task.state.running


def _report(run: "asyncio.Task[None]") -> None:
    if not run.cancelled() and run.exception() is not None:
        log.critical("a turn could not be brought to its end", exc_info=run.exception())
