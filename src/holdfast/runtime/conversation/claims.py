"""Which object may write a conversation: one in the whole process, and the process is the only one.

The claim on a conversation belongs to the process and ends with it, however it ends. Inside the process the last object
that began to write holds it; an older one is refused from then on, and so is one that has not seen the newest state.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from holdfast.core.errors import StaleWriter


class ClaimHold(Protocol):
    """A process's claim on one conversation."""

    def release(self) -> None:
        """Let other processes have it."""
        ...

    def abandon(self) -> None:
        """Let other processes have it soon, without waiting for anything."""
        ...

    def forget(self) -> None:
        """In a process that was forked: leave it to the parent."""
        ...


class ConversationWriter:
    """An object that writes a conversation; whether it ever did."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.began = False


@dataclass(slots=True)
class _Claimed:
    lock: threading.RLock = field(default_factory=threading.RLock)
    writer: ConversationWriter | None = None
    hold: ClaimHold | None = None


class Claims:
    """The conversations that this process has claimed, by name."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._claimed: dict[str, _Claimed] = {}

    @contextmanager
    def writing(
        self, name: str, writer: ConversationWriter, *, take: Callable[[], ClaimHold], check: Callable[[], None]
    ) -> Iterator[ClaimHold]:
        """Write as the one who may; `take` claims it for the process, and `check` refuses a stale object.

        StaleWriter if another object of this process has begun to write since.
        """
        claimed = self._entry(name)
        with claimed.lock:
            if claimed.writer is not writer:
                if writer.began and claimed.writer is not None:
                    raise superseded(writer.session_id)
                # At once: if the one before is collected meanwhile, it must not give up what this one takes over.
                before, claimed.writer = claimed.writer, writer
                try:
                    claimed.hold = self._begun(claimed, take, check)
                except BaseException:
                    claimed.writer = before
                    raise
                writer.began = True
            assert claimed.hold is not None
            yield claimed.hold

    def release(self, name: str, writer: ConversationWriter) -> None:
        """Give the claim up, if it is this object's."""
        claimed = self._entry(name)
        with claimed.lock:
            if claimed.writer is writer and claimed.hold is not None:
                claimed.writer, hold, claimed.hold = None, claimed.hold, None
                hold.release()

    def abandon(self, name: str, writer: ConversationWriter) -> None:
        """The same for an object that is being collected, wherever that happens: nothing is waited for."""
        claimed = self._claimed.get(name)
        if claimed is None or not claimed.lock.acquire(blocking=False):
            return  # whoever writes it now takes the claim over
        try:
            if claimed.writer is writer and claimed.hold is not None:
                claimed.writer, hold, claimed.hold = None, claimed.hold, None
                hold.abandon()
        finally:
            claimed.lock.release()

    def forget_all(self) -> None:
        """In a process that was forked: the claims are the parent's."""
        holds = [claimed.hold for claimed in self._claimed.values() if claimed.hold is not None]
        self.__init__()  # type: ignore[misc]  # a lock of the parent's may be held by a thread that is not here
        for hold in holds:
            with suppress(OSError):
                hold.forget()

    def _entry(self, name: str) -> _Claimed:
        with self._guard:
            return self._claimed.setdefault(name, _Claimed())

    @staticmethod
    def _begun(claimed: _Claimed, take: Callable[[], ClaimHold], check: Callable[[], None]) -> ClaimHold:
        """The process's claim, for an object that begins to write and has seen the newest state."""
        hold = claimed.hold or take()
        try:
            check()
        except BaseException:
            if claimed.hold is None:
                hold.release()
            raise
        return hold


CLAIMS = Claims()
"""Those of this process."""
os.register_at_fork(after_in_child=CLAIMS.forget_all)


def superseded(session_id: str) -> StaleWriter:
    """The refusal of an object that another has taken the conversation over from."""
    return StaleWriter(
        f"another object of this process has written conversation {session_id!r} since",
        hint="load the conversation again, and go on with what was loaded",
    )


def unseen(session_id: str) -> StaleWriter:
    """The refusal of an object that has not seen the newest state."""
    return StaleWriter(
        f"conversation {session_id!r} has been written since it was loaded here",
        hint="load the conversation again, and go on with what was loaded; or fork this one",
    )
