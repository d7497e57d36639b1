"""What is wrong with how conversations are kept."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from holdfast.core import IdSource
from holdfast.prove.broken.messages import UserMessage, UserTask, UserWords
from holdfast.prove.broken.runtime import KEPT_WHOLE, Entry, Runtime

COMMIT_DELAY_SECONDS = 60.0
OVERLAP_SECONDS = 0.5


class TaskKeyed(Runtime):
    """Every message without a task id starts a task, so every turn is a first turn."""

    def history_key(self, task: UserTask) -> str:
        return task.task_id


class SharedHistory(Runtime):
    """One agent object serves everybody."""

    def history_key(self, task: UserTask) -> str:
        """The same for all."""
        return "everybody"


class FollowsElsewhere(Runtime):
    """Takes a message that names only a task for the beginning of another conversation."""

    def place(self, message: UserMessage) -> str:
        """The context that the message names, and no other."""
        return message.context_id or self.new_id()


class MemoryOnly(Runtime):
    """Works until the process ends."""

    def commit(self, entry: Entry) -> None:
        """Seen, never durable."""
        self.apply(entry)


class AckBeforeCommit(Runtime):
    """Write-behind: fast, and fine as long as nobody pulls the plug."""

    def __init__(self, data: Path, new_id: IdSource) -> None:
        self._pending: deque[Entry] = deque()
        super().__init__(data, new_id)

    def commit(self, entry: Entry) -> None:
        """Seen at once, durable later."""
        self._pending.append(entry)
        asyncio.get_running_loop().call_later(COMMIT_DELAY_SECONDS, self._write_one)
        self.apply(entry)

    async def close(self) -> None:
        """A polite stop writes what is pending."""
        while self._pending:
            self._write_one()

    def _write_one(self) -> None:
        self.log.append(self._pending.popleft())


class Overwrites(Runtime):
    """Load the history, think, save the history: without a lock, the last one to save wins."""

    def turn_lock(self, task: UserTask) -> AbstractAsyncContextManager[Any]:
        return nullcontext()

    async def think(self, task: UserTask, heard: Sequence[UserWords]) -> AsyncGenerator[str]:
        """Slow at the beginning of a conversation, so that two turns overlap for certain."""
        await asyncio.sleep(OVERLAP_SECONDS if len(heard) <= 2 else 0)
        async for piece in super().think(task, heard):
            yield piece

    def remember(self, key: str, before: Sequence[UserWords], request: UserWords) -> Entry:
        """The whole history as this turn knew it."""
        return {"key": key, "all_said": [asdict(said) for said in (*before, request)]}


class ForgetsAtCompaction(Runtime):
    """Cuts a long history off."""

    def compact(self, history: Sequence[UserWords]) -> list[UserWords]:
        """The newest, whatever the others said."""
        return list(history[-KEPT_WHOLE:])
