"""A pipe from a thread to the event loop: what the thread writes is held until it is taken, and only so much of it."""

import asyncio
import threading
from collections.abc import AsyncGenerator

from holdfast.core.errors import Closing

MOST_HELD = 256 * 1024
PIECE = 64 * 1024


class Pipe:
    """Written by one thread, read by the loop on which it was made."""

    def __init__(self, most_held: int = MOST_HELD) -> None:
        self._loop = asyncio.get_running_loop()
        self._most_held = most_held
        self._changed = threading.Condition()
        self._news = asyncio.Event()
        self._held: list[bytes] = []
        self._size = 0
        self._ended = False
        self._error: BaseException | None = None
        self._broken = False

    def write(self, data: bytes) -> None:
        """Give the reader these bytes, waiting while it has too many; Closing if it reads no more. Blocks."""
        whole = memoryview(data)
        for at in range(0, len(whole), PIECE):
            self._give(bytes(whole[at : at + PIECE]))

    def end(self, error: BaseException | None = None) -> None:
        """Say that all is written, or why no more will be."""
        with self._changed:
            self._ended, self._error = True, error
        self._tell()

    def leave(self) -> None:
        """Read no more: the writer is told with its next word."""
        with self._changed:
            self._broken = True
            self._held.clear()
            self._changed.notify_all()

    async def read(self) -> AsyncGenerator[bytes, None]:
        """What is written, until the end; the writer's error, if it ends with one."""
        while True:
            self._news.clear()
            with self._changed:
                taken, self._held, self._size = b"".join(self._held), [], 0
                ended = self._ended
                self._changed.notify_all()
            if taken:
                yield taken
            elif not ended:
                await self._news.wait()
            elif self._error is not None:
                raise self._error
            else:
                return

    def _give(self, piece: bytes) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._broken or self._size < self._most_held)
            if self._broken:
                raise Closing("nobody takes what is written")
            self._held.append(piece)
            self._size += len(piece)
        self._tell()

    def _tell(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)
