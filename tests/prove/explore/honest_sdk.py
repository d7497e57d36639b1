"""An honest agent on the official A2A SDK, and a fast one: `python honest_sdk.py DATA PORT`.

What a user said is in a file, by context, before the answer is sent; the tasks are in the SDK's database, and those
that nobody is at work on any more are failed at the start. Turns of one context take turns. It is served as the
examples on the SDK are.
"""

import asyncio
import json
import os
import sys
from collections import defaultdict
from pathlib import Path

from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import DatabaseTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import ListTasksRequest, TaskState
from sqlalchemy.ext.asyncio import create_async_engine

from holdfast.core import TimeOrderedIds
from holdfast.prove.broken.agent import answer
from holdfast.prove.broken.desk import ToolDesk
from holdfast.prove.broken.messages import UserWords

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "targets"))
from sdk_memory import card, listen  # type: ignore[import-not-found]


class Said:
    """What was said in each context, on the disk before anybody is answered."""

    def __init__(self, path: Path) -> None:
        self._histories: defaultdict[str, list[UserWords]] = defaultdict(list)
        for line in path.read_text().splitlines() if path.exists() else ():
            said = json.loads(line)
            self._histories[said["context"]].append(UserWords(said["text"]))
        self._file = path.open("a")

    def of(self, context: str) -> list[UserWords]:
        return self._histories[context]

    def add(self, context: str, text: str) -> None:
        self._file.write(json.dumps({"context": context, "text": text}) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._histories[context].append(UserWords(text))


class Honest(AgentExecutor):
    """Keeps what was said, then answers."""

    def __init__(self, data: Path) -> None:
        self._said = Said(data / "said.jsonl")
        self._workspace = data / "workspace"
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        # The SDK makes up a context for a message that names its task only; the task knows better.
        place = context.current_task.context_id if context.current_task else context.context_id
        assert place is not None
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        updater = TaskUpdater(event_queue, context.message.task_id, place)
        await updater.start_work()
        async with self._locks[place]:
            self._said.add(place, "\n".join(part.text for part in context.message.parts if part.HasField("text")))
            desk = ToolDesk(place, self._workspace, {}, lambda thing, value: None, TimeOrderedIds())
            number = 0
            async for word in answer(self._said.of(place), desk):
                # A model's tokens end in the middle of a word.
                for token in filter(None, (word[: len(word) // 2], word[len(word) // 2 :])):
                    await updater.add_artifact([new_text_part(token)], artifact_id="answer", append=number > 0)
                    number += 1
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id is not None
        assert context.context_id is not None
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def fail_orphans(tasks: DatabaseTaskStore) -> None:
    """Nobody is at work on what was running when the last process ended."""
    await tasks.initialize()
    nobody = ServerCallContext()
    for state in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING):
        while found := (await tasks.list(ListTasksRequest(status=state, page_size=100), nobody)).tasks:
            for task in found:
                whole = await tasks.get(task.id, nobody)
                assert whole is not None
                whole.status.state = TaskState.TASK_STATE_FAILED
                await tasks.save(whole, nobody)


def start(data: Path, port: int) -> None:
    """Serve the agent, once no task is left that nobody is at work on."""
    data.mkdir(parents=True, exist_ok=True)
    database = f"sqlite+aiosqlite:///{data / 'tasks.db'}"
    asyncio.run(fail_orphans(DatabaseTaskStore(create_async_engine(database))))
    own = card(f"http://127.0.0.1:{port}")
    listen(DefaultRequestHandler(Honest(data), DatabaseTaskStore(create_async_engine(database)), own), own, port)


if __name__ == "__main__":
    start(Path(sys.argv[1]), int(sys.argv[2]))
