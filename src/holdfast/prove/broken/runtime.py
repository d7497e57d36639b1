"""The honest runtime: what it has acknowledged is on the disk, one turn at a time in each context.

Its methods are the steps at which a runtime can go wrong; each kind in `kinds` overrides some. State is rebuilt
from the log at start. An entry has some of: `task`, a task as it now is, and `message`, the id of the message that
made it so; `key` with `said`, what is added to a history, or with `all_said`, what a history now is; `memory`, things
and their values.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from holdfast.core import IdSource, TaskState
from holdfast.prove.broken.agent import answer, approves, wants_approval, worth_keeping
from holdfast.prove.broken.desk import ToolDesk
from holdfast.prove.broken.live import LiveAnswer
from holdfast.prove.broken.log import LineLog
from holdfast.prove.broken.messages import UserMessage, UserTask, UserWords
from holdfast.prove.broken.refusals import BAD_PARAMS, NOT_CANCELABLE, NOT_FOUND, UNSUPPORTED, RpcRefusal
from holdfast.prove.broken.wire import Version

Entry = dict[str, Any]

LONGEST_HISTORY = 40
KEPT_WHOLE = 10


class Runtime:
    """Takes messages, runs turns, remembers."""

    def __init__(self, data: Path, new_id: IdSource) -> None:
        self.tasks: dict[str, UserTask] = {}
        self.histories: defaultdict[str, list[UserWords]] = defaultdict(list)
        self.memory: dict[str, str] = {}
        self.live: dict[str, LiveAnswer] = {}
        self.workspace = data / "workspace"
        self.new_id = new_id
        self._accepted: dict[tuple[str, str], str] = {}
        self._turns: dict[str, asyncio.Task[None]] = {}
        self._canceled: set[str] = set()
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.log = LineLog(data / "log.jsonl")
        for entry in self.log.entries:
            self.apply(entry)
        self.recover()

    @classmethod
    def next_version(cls) -> type["Runtime"]:
        """What the next version of it does: the same."""
        return cls

    # What the server calls.

    def accept(self, message: UserMessage) -> UserTask:
        """The task of a message: a new one that runs from now on, or the first if it was accepted before."""
        context_id = self.place(message)
        task = self.accepted_before(context_id, message.message_id)
        if task is not None:
            return task
        followed = self.look(message.task_id) if message.task_id else None
        if followed is not None and followed.state.terminal:
            raise RpcRefusal(UNSUPPORTED, f"the task {message.task_id} has ended")
        if followed is not None and followed.state is TaskState.INPUT_REQUIRED:
            task = replace(followed, state=TaskState.WORKING, approval=message.said.text)
        else:
            task = UserTask(self.new_id(), context_id, message.message_id, self.hear(message.said), TaskState.WORKING)
        self.commit({"task": asdict(task), "message": message.message_id})
        self.begin(task)
        return task

    def begin(self, task: UserTask) -> None:
        """Have somebody work on a task."""
        self.live[task.task_id] = LiveAnswer()
        self._turns[task.task_id] = asyncio.create_task(self._run(task))

    def look(self, task_id: str) -> UserTask:
        """The task as it is now, with what it has said so far."""
        task = self.tasks.get(task_id)
        if task is None:
            raise RpcRefusal(NOT_FOUND, f"there is no task {task_id}")
        live = self.live.get(task_id)
        return replace(task, text=live.text) if live else task

    async def wait(self, task_id: str) -> UserTask:
        """The task at its end. A client that hangs up meanwhile does not stop it."""
        if turn := self._turns.get(task_id):
            await asyncio.wait({turn})
        return self.look(task_id)

    async def cancel(self, task_id: str) -> UserTask:
        """The task once its work has stopped."""
        if not self.look(task_id).state.running:
            raise RpcRefusal(NOT_CANCELABLE, f"the task {task_id} has ended")
        self.stop_work(task_id)
        return await self.wait(task_id)

    async def stream(self, task_id: str) -> AsyncGenerator[UserTask | str]:
        """The task as it is, the pieces of its answer from there on, and the task at its end."""
        task, live = self.look(task_id), self.live.get(task_id)
        yield task
        if live is None:
            return
        async for piece in live.follow(len(live.pieces)):
            yield piece
        yield await self.wait(task_id)

    async def subscribe(self, task_id: str) -> AsyncGenerator[UserTask | str]:
        """The same for somebody who comes later, or again."""
        async for news in self.stream(task_id):
            yield news

    def hung_up(self, task_id: str) -> None:
        """Somebody who followed a task is gone: nothing changes."""

    async def close(self) -> None:
        """End as a polite stop does: what still runs is failed by the next start."""

    # The steps that a kind may get wrong.

    def speaks(self, version: Version) -> bool:
        """Whether it takes requests in this version of the protocol."""
        return True

    def place(self, message: UserMessage) -> str:
        """The context of a message: that of the task that it follows, else its own, else a new one."""
        if not message.task_id:
            return message.context_id or self.new_id()
        context_id = self.look(message.task_id).context_id
        if message.context_id not in (None, context_id):
            raise RpcRefusal(BAD_PARAMS, f"the task {message.task_id} belongs to another context")
        return context_id

    def accepted_before(self, context_id: str, message_id: str) -> UserTask | None:
        """The task of a message that was delivered before."""
        task_id = self._accepted.get((context_id, message_id))
        return self.look(task_id) if task_id else None

    def hear(self, said: UserWords) -> UserWords:
        """What of a message reaches the agent."""
        return said

    def history_key(self, task: UserTask) -> str:
        """What a conversation's history is kept under."""
        return task.context_id

    def heard_before(self, task: UserTask) -> list[UserWords]:
        """What a turn is to know of what was said before it."""
        return list(self.histories[self.history_key(task)])

    def turn_lock(self, task: UserTask) -> AbstractAsyncContextManager[Any]:
        """What keeps turns of one conversation apart."""
        return self._locks[task.context_id]

    def desk(self, task: UserTask) -> ToolDesk:
        """The tools for a turn."""
        return ToolDesk(task.context_id, self.workspace, self.memory, self.keep, self.new_id)

    def think(self, task: UserTask, heard: Sequence[UserWords]) -> AsyncGenerator[str]:
        """The answer to what was heard, as it comes."""
        return answer(heard, self.desk(task))

    def question(self, task: UserTask) -> str:
        """What a task has to ask its user before anything is done; empty if nothing, or nothing more."""
        return "" if task.approval or not wants_approval(task.request) else "Shall I do that? Please approve."

    def stop_work(self, task_id: str) -> None:
        """Stop a turn that runs."""
        self._canceled.add(task_id)
        self._turns[task_id].cancel()

    def remember(self, key: str, before: Sequence[UserWords], request: UserWords) -> Entry:
        """The entry that adds a request to the history which it was answered from."""
        return {"key": key, "said": [asdict(request)]}

    def compact(self, history: Sequence[UserWords]) -> list[UserWords]:
        """A history that has grown too long, without what nobody will ask for."""
        older, newest = history[:-KEPT_WHOLE], history[-KEPT_WHOLE:]
        return [*filter(worth_keeping, older), *newest]

    def keep(self, thing: str, value: str) -> None:
        """What the memory tool does with a fact."""
        self.commit({"memory": {thing: value}})

    def commit(self, entry: Entry) -> None:
        """Make an entry durable, then let it be seen."""
        self.log.append(entry)
        self.apply(entry)

    def recover(self) -> None:
        """Fail what was running when the last process ended: nobody is at work on it."""
        for task in list(self.tasks.values()):
            if task.state.running:
                before = self.heard_before(task)
                self.finish(task, TaskState.FAILED, "Interrupted by a restart.", before)

    def apply(self, entry: Entry) -> None:
        """Change what is in memory as the entry says."""
        if "task" in entry:
            task = UserTask.from_record(entry["task"])
            self.tasks[task.task_id] = task
            self._accepted[task.context_id, task.message_id] = task.task_id
            self._accepted[task.context_id, entry.get("message", task.message_id)] = task.task_id
        if "all_said" in entry:
            self.histories[entry["key"]] = [UserWords.from_record(said) for said in entry["all_said"]]
        if "said" in entry:
            self.histories[entry["key"]] += [UserWords.from_record(said) for said in entry["said"]]
        self.memory |= entry.get("memory", {})

    def finish(self, task: UserTask, state: TaskState, text: str, before: Sequence[UserWords] = ()) -> None:
        """End a task; whatever became of it, what the user said is part of the conversation."""
        key = self.history_key(task)
        ended = asdict(replace(task, state=state, text=text))
        self.commit({"task": ended, **self.remember(key, before, replace(task.request, reply=text))})
        history = self.histories[key]
        if len(history) > LONGEST_HISTORY:
            self.commit({"key": key, "all_said": [asdict(said) for said in self.compact(history)]})

    async def _run(self, task: UserTask) -> None:
        live = self.live[task.task_id]
        before: list[UserWords] = []
        try:
            async with self.turn_lock(task):
                before = self.heard_before(task)
                if question := self.question(task):
                    live.say(question)
                    self.commit({"task": asdict(replace(task, state=TaskState.INPUT_REQUIRED, text=question))})
                    return
                if task.approval and not approves(task.approval):
                    self.finish(task, TaskState.COMPLETED, "Then I will not do it.", before)
                    return
                async for piece in self.think(task, [*before, task.request]):
                    live.say(piece)
                self.finish(task, TaskState.COMPLETED, live.text, before)
        except asyncio.CancelledError:
            if task.task_id not in self._canceled:
                raise
            self.finish(task, TaskState.CANCELED, live.text, before)
        except Exception as wrong:
            self.finish(task, TaskState.FAILED, f"This turn failed: {wrong!r}.", before)
        finally:
            del self.live[task.task_id], self._turns[task.task_id]
            live.end()
