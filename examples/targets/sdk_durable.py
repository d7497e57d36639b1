"""An agent on the official A2A SDK that remembers: `python sdk_durable.py DATA PORT [PACE]`.

It is the agent of `sdk_memory.py` with four things done right, all in one SQLite file: what is said is kept by context
before the answer is sent, a message that comes again is answered with what was answered, turns of one context wait for
each other, and a task that a dead process left behind is ended at the start. What its memory tool is
told is in that file too. It proves `continuity`, `files` and `memory`:

    mkdir -p data/workspace
    holdfast prove --command "python examples/targets/sdk_durable.py ./data {port}" --workspace ./data/workspace

Needs `a2a-sdk[http-server]` and `uvicorn`.
"""

import asyncio
import sqlite3
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import Event, EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import TaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    Task,
    TaskState,
)
from sdk_memory import Agent, card, listen, read

ENDS = {
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_REJECTED,
}
SCHEMA = """
CREATE TABLE IF NOT EXISTS turns (context TEXT, message TEXT, said TEXT, answer TEXT, PRIMARY KEY (context, message));
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS tasks (id TEXT PRIMARY KEY, context TEXT, task BLOB);
"""


class Conversations:
    """What was said and answered, by context. Both are on the disk when these return."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def hear(self, context: str, message: str, words: str) -> list[str]:
        """Keep what is said; returns all that was said in this context, in order."""
        with self._database:
            row = (context, message, words)
            self._database.execute("INSERT OR IGNORE INTO turns (context, message, said) VALUES (?, ?, ?)", row)
        rows = self._database.execute("SELECT said FROM turns WHERE context = ? ORDER BY rowid", (context,))
        return [said for (said,) in rows]

    def keep_answer(self, context: str, message: str, answer: str) -> None:
        """Keep the answer to a message, before anybody is told that there is one."""
        with self._database:
            row = (answer, context, message)
            self._database.execute("UPDATE turns SET answer = ? WHERE context = ? AND message = ?", row)

    def answer_to(self, context: str, message: str) -> str | None:
        """The answer that this message had when it was delivered before."""
        row = (context, message)
        found = self._database.execute("SELECT answer FROM turns WHERE context = ? AND message = ?", row).fetchone()
        return found[0] if found else None


class Memory:
    """What the memory tool was told: for all contexts, the newest of each fact, on the disk."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __setitem__(self, name: str, value: str) -> None:
        with self._database:
            self._database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def get(self, name: str, otherwise: str) -> str:
        """What is known under this name."""
        found = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return found[0] if found else otherwise


class Tasks(TaskStore):
    """The SDK's tasks, in the same file."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def end_orphans(self) -> None:
        """Fail what was running when the last process ended: nobody is at work on it any more."""
        for task in self._select("1"):
            if task.status.state not in ENDS:
                task.status.state = TaskState.TASK_STATE_FAILED
                self._write(task)

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Keep a task as it is now."""
        self._write(task)

    async def get(self, task_id: str, context: ServerCallContext) -> Task | None:
        """The task of this id."""
        return next(iter(self._select("id = ?", task_id)), None)

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """The tasks of a context, or all."""
        return ListTasksResponse(tasks=self._select("? IN ('', context)", params.context_id))

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Forget a task."""
        with self._database:
            self._database.execute("DELETE FROM tasks WHERE id = ?", (task_id,))

    def _select(self, which: str, *values: str) -> "list[Task]":
        rows = self._database.execute(f"SELECT task FROM tasks WHERE {which} ORDER BY rowid", values)
        return [Task.FromString(kept) for (kept,) in rows.fetchall()]

    def _write(self, task: Task) -> None:
        with self._database:
            row = (task.id, task.context_id, task.SerializeToString())
            self._database.execute("INSERT OR REPLACE INTO tasks VALUES (?, ?, ?)", row)


class Executor(AgentExecutor):
    """Runs a turn: what was said in its context so far, what is said now, and the answer."""

    def __init__(self, agent: Agent, conversations: Conversations) -> None:
        self._agent = agent
        self._conversations = conversations
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """One turn of a context at a time; its answer is on the disk before the task is completed."""
        message = context.message
        assert message is not None
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(message))
        updater = TaskUpdater(event_queue, message.task_id, message.context_id)
        await updater.start_work()
        async with self._locks[message.context_id]:
            said = ""
            async for piece in self._answer(message):
                await updater.add_artifact([new_text_part(piece)], artifact_id="answer", append=bool(said))
                said += piece
            self._conversations.keep_answer(message.context_id, message.message_id, said)
        await updater.complete()

    async def _answer(self, message: Message) -> AsyncIterator[str]:
        """The answer to a message; to one that was delivered before, the same, and nothing is done again."""
        kept = self._conversations.answer_to(message.context_id, message.message_id)
        if kept is not None:
            yield kept
            return
        heard = self._conversations.hear(message.context_id, message.message_id, read(message))
        async for piece in self._agent.answer(heard):
            yield piece

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """The SDK has stopped `execute`; what is left is to say so."""
        assert context.task_id is not None
        assert context.context_id is not None
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class Handler(DefaultRequestHandler):
    """The SDK's handler, which puts a message that names only a task into the context of that task."""

    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Message | Task:
        """Take a message and wait for its turn."""
        return await super().on_message_send(await self._placed(params, context), context)

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Take a message and tell how its turn goes."""
        async for event in super().on_message_send_stream(await self._placed(params, context), context):
            yield event

    async def _placed(self, params: SendMessageRequest, context: ServerCallContext) -> SendMessageRequest:
        """While its task still runs a message becomes the next turn; one to an ended task the SDK refuses."""
        message = params.message
        task = await self.task_store.get(message.task_id, context) if message.task_id else None
        if task is not None:
            message.context_id = message.context_id or task.context_id
            if task.status.state not in ENDS:
                message.task_id = ""
        return params


def serve(data: Path, port: int, pace: float) -> None:
    """Serve the agent on loopback until a signal comes."""
    data.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(data / "agent.db")
    database.executescript(SCHEMA)
    tasks = Tasks(database)
    tasks.end_orphans()
    executor = Executor(Agent(data / "workspace", pace, Memory(database)), Conversations(database))
    own = card(f"http://127.0.0.1:{port}")
    listen(Handler(executor, tasks, own), own, port)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 1.0)
