"""The honest runtime: what it has acknowledged is on the disk, one turn at a time in each context.

Its methods are the steps at which a runtime can go wrong; each kind in `kinds` overrides some. State is
rebuilt from the log at start. An entry is `{"task": …}`, for a finished turn also `{"key": …, "said": […]}`.
"""

import asyncio
from collections import defaultdict
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.core import IdSource, TaskState
from holdfast.prove.broken.agent import answer
from holdfast.prove.broken.log import Log

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """A user's message as it came."""

    message_id: str
    context_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Task:
    """One turn."""

    task_id: str
    context_id: str
    message_id: str
    state: TaskState
    text: str = ""


class Runtime:
    """Takes messages, runs turns, remembers."""

    def __init__(self, data: Path, new_id: IdSource) -> None:
        self.tasks: dict[str, Task] = {}
        self.histories: defaultdict[str, list[str]] = defaultdict(list)
        self._accepted: dict[tuple[str, str], str] = {}
        self._turns: dict[str, asyncio.Task[None]] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._workspace = data / "workspace"
        self._new_id = new_id
        self.log = Log(data / "log.jsonl")
        for entry in self.log.entries:
            self.apply(entry)
        self.recover()

    # What the server calls.

    async def send(self, message: Message, *, wait: bool) -> Task:
        """Accept the message, or find that it was accepted before; the task as it is then, or at its end."""
        task = self.accepted_before(message)
        if task is None:
            task = Task(self._new_id(), message.context_id, message.message_id, TaskState.WORKING)
            self.commit({"task": asdict(task)})
            self._turns[task.task_id] = asyncio.create_task(self._run(task, message.text))
        turn = self._turns.get(task.task_id)
        if wait and turn is not None:
            # A client that hangs up does not stop the turn.
            await asyncio.shield(turn)
        return self.tasks[task.task_id]

    async def close(self) -> None:
        """End as a polite stop does."""

    # The steps that a kind may get wrong.

    def accepted_before(self, message: Message) -> Task | None:
        """The task of a message that was delivered before."""
        task_id = self._accepted.get((message.context_id, message.message_id))
        return self.tasks[task_id] if task_id else None

    def history_key(self, task: Task) -> str:
        """What a conversation's history is kept under."""
        return task.context_id

    def turn_lock(self, key: str) -> AbstractAsyncContextManager[Any]:
        """What keeps turns of one conversation apart."""
        return self._locks[key]

    async def think(self, said: list[str]) -> str:
        """The answer to what was said."""
        return await answer(said, self._workspace)

    def remember(self, key: str, before: list[str], request: str) -> Entry:
        """The entry that adds a request to the history which it was answered from."""
        return {"key": key, "said": [request]}

    def commit(self, entry: Entry) -> None:
        """Make an entry durable, then let it be seen."""
        self.log.append(entry)
        self.apply(entry)

    def recover(self) -> None:
        """Fail what was running when the last process ended: nobody is at work on it."""
        for task in list(self.tasks.values()):
            if task.state.running:
                failed = replace(task, state=TaskState.FAILED, text="Interrupted by a restart.")
                self.commit({"task": asdict(failed)})

    def apply(self, entry: Entry) -> None:
        """Change what is in memory as the entry says."""
        task = Task(**{**entry["task"], "state": TaskState(entry["task"]["state"])})
        self.tasks[task.task_id] = task
        self._accepted[task.context_id, task.message_id] = task.task_id
        self.histories[entry.get("key", "")].extend(entry.get("said", ()))

    async def _run(self, task: Task, request: str) -> None:
        key = self.history_key(task)
        async with self.turn_lock(key):
            before = list(self.histories[key])
            text = await self.think([*before, request])
            done = replace(task, state=TaskState.COMPLETED, text=text)
            self.commit({"task": asdict(done), **self.remember(key, before, request)})
        del self._turns[task.task_id]
