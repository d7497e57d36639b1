"""What is wrong with when things become durable, and with what a start makes of them."""

import asyncio
from collections import deque
from pathlib import Path

from holdfast.core import IdSource
from holdfast.prove.broken.messages import UserMessage, UserTask
from holdfast.prove.broken.runtime import Entry, Runtime

COMMIT_DELAY_SECONDS = 60.0
REWRITE_SECONDS = 0.3


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


class CommitsWithTheNext(Runtime):
    """Writes what happened in a turn when the next one is accepted, in whatever conversation."""

    def __init__(self, data: Path, new_id: IdSource) -> None:
        self._pending: list[Entry] = []
        super().__init__(data, new_id)

    def accept(self, message: UserMessage) -> UserTask:
        """Write first what is pending."""
        self._flush()
        return super().accept(message)

    def commit(self, entry: Entry) -> None:
        """Seen at once, durable later."""
        self._pending.append(entry)
        self.apply(entry)

    async def close(self) -> None:
        """A polite stop writes what is pending."""
        self._flush()

    def _flush(self) -> None:
        if self._pending:
            self.log.append(*self._pending)
            self._pending.clear()


class WritesSessionsLate(Runtime):
    """Writes a conversation when its next turn comes: a session object that is saved when it is loaded again."""

    def __init__(self, data: Path, new_id: IdSource) -> None:
        self._pending: dict[str, list[Entry]] = {}
        super().__init__(data, new_id)

    def accept(self, message: UserMessage) -> UserTask:
        """Write first what is pending of this conversation."""
        self.log.append(*self._pending.pop(message.context_id or "", []))
        return super().accept(message)

    def commit(self, entry: Entry) -> None:
        """Seen at once, durable later."""
        context_id = entry["task"]["context_id"] if "task" in entry else entry.get("key")
        if context_id is None:
            super().commit(entry)
        else:
            self._pending.setdefault(context_id, []).append(entry)
            self.apply(entry)

    async def close(self) -> None:
        """A polite stop writes what is pending."""
        for entries in self._pending.values():
            self.log.append(*entries)


class ForgetsAtASecondCrash(Runtime):
    """Saves what it has read at a start, and that without the newest turn of each conversation; uses it at the next."""

    def recover(self) -> None:
        """Nothing was said since the last start: what that one saved is taken."""
        super().recover()
        if self.log.entries and self.log.entries[-1] == {"started": True}:
            for history in self.histories.values():
                del history[-1:]
        self.log.append({"started": True})


class LeavesALock(Runtime):
    """Has a lock file that a polite stop removes; a start that finds one takes itself for a second process."""

    def __init__(self, data: Path, new_id: IdSource) -> None:
        self._lock = data / "lock"
        if self._lock.exists():
            self._lock.unlink()
            raise SystemExit("another process is at work here")
        super().__init__(data, new_id)
        self._lock.touch()

    async def close(self) -> None:
        """Leave in order."""
        self._lock.unlink()


class ForgetsAtUpgrade(Runtime):
    """Has another place for its data from the next version on, and nobody moves them."""

    @classmethod
    def next_version(cls) -> type[Runtime]:
        """One that looks elsewhere."""
        return _Elsewhere


class _Elsewhere(Runtime):
    def __init__(self, data: Path, new_id: IdSource) -> None:
        super().__init__(data / "v2", new_id)


class CannotReadTheOld(Runtime):
    """Has a field from the next version on that older records do not have."""

    @classmethod
    def next_version(cls) -> type[Runtime]:
        """One that insists on it."""
        return _Newer


class _Newer(Runtime):
    def apply(self, entry: Entry) -> None:
        """Older records have no such field."""
        if "version" not in entry:
            raise SystemExit("a record without a version")
        super().apply(entry)

    def commit(self, entry: Entry) -> None:
        """Newer ones have."""
        super().commit({**entry, "version": 2})


class RewritesAtStart(Runtime):
    """Tidies its log up at a start: empties the file, takes its time, and writes it anew."""

    def recover(self) -> None:
        """A kill in between finds an empty file."""
        super().recover()
        self.log.rewrite(pause=REWRITE_SECONDS)
