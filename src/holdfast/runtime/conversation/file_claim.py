"""A process's claim on a conversation in a file: a lock that the kernel lets go of when the process ends.

What is written in the lock file names the holder to others. A process that was forked does not have its parent's claim.
"""

import os
import socket
import sys
from pathlib import Path
from typing import Any

from holdfast.core.durable_files import writing
from holdfast.core.errors import ConversationHeld, StoreInUse
from holdfast.core.store_file import StoreLock, holder_of


class FileHold:
    """The lock, while it is held."""

    def __init__(self, lock: StoreLock) -> None:
        self._lock = lock

    @classmethod
    def take(cls, path: Path, session_id: str) -> "FileHold":
        """Claim a conversation by the lock at this path; ConversationHeld if another process has it."""
        lock = StoreLock(path)
        try:
            lock.__enter__()
        except StoreInUse:
            raise held(session_id, holder_of(path)) from None
        try:
            with writing(path):
                lock.say({"pid": os.getpid(), "host": socket.gethostname(), "program": program()})
        except BaseException:  # nobody knows of the lock, so nobody else would let go of it
            lock.__exit__(None, None, None)
            raise
        return cls(lock)

    def release(self) -> None:
        """Let other processes have it."""
        self._lock.path.unlink(missing_ok=True)
        self._lock.__exit__(None, None, None)

    abandon = release

    def forget(self) -> None:
        """In a process that was forked: leave it to the parent."""
        self._lock.forget()


def program() -> str:
    """What this process is, in words for others."""
    return " ".join([Path(sys.argv[0]).name or "python", *sys.argv[1:2]]).strip()[:200]


def held(session_id: str, holder: dict[str, Any]) -> ConversationHeld:
    """The refusal that names the holder."""
    pid, host, name = (holder.get(key) for key in ("pid", "host", "program"))
    other = str(holder.get("name") or "another process that is just starting")
    who = f"process {pid} ({name}) on {host}" if pid else other
    return ConversationHeld(f"{who} holds conversation {session_id!r}", session_id=session_id, **holder)
