"""One class per defect: each differs from the honest runtime in what it overrides and in nothing else."""

import asyncio
from collections import deque
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

from holdfast.core import IdSource
from holdfast.prove.broken.runtime import Entry, Message, Runtime, Task

COMMIT_DELAY_SECONDS = 5.0
OVERLAP_SECONDS = 0.5


class TaskKeyed(Runtime):
    """Every message without a task id starts a task, so every turn is a first turn."""

    def history_key(self, task: Task) -> str:
        """The wrong id."""
        return task.task_id


class SharedHistory(Runtime):
    """One agent object serves everybody."""

    def history_key(self, task: Task) -> str:
        """The same for all."""
        return "everybody"


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


class RunsTwice(Runtime):
    """Takes every delivery for a new message."""

    def accepted_before(self, message: Message) -> Task | None:
        """Never."""
        return None


class Overwrites(Runtime):
    """Load the history, think, save the history: without a lock, the last one to save wins."""

    def turn_lock(self, key: str) -> AbstractAsyncContextManager[Any]:
        """No lock."""
        return nullcontext()

    async def think(self, said: list[str]) -> str:
        """Slow enough that two turns overlap."""
        await asyncio.sleep(OVERLAP_SECONDS)
        return await super().think(said)

    def remember(self, key: str, before: list[str], request: str) -> Entry:
        """The whole history as this turn knew it."""
        return {"key": key, "all_said": [*before, request]}

    def apply(self, entry: Entry) -> None:
        """The history becomes what the turn wrote."""
        super().apply(entry)
        if "all_said" in entry:
            self.histories[entry["key"]] = list(entry["all_said"])


class OrphansTasks(Runtime):
    """Stores tasks, and forgets that a stored task is not a running one."""

    def recover(self) -> None:
        """Nothing to do, it thinks."""


RUNTIMES: dict[str, type[Runtime]] = {
    "none": Runtime,
    "task-keyed": TaskKeyed,
    "memory-only": MemoryOnly,
    "ack-before-commit": AckBeforeCommit,
    "shared-history": SharedHistory,
    "runs-twice": RunsTwice,
    "overwrites": Overwrites,
    "orphans-tasks": OrphansTasks,
}
