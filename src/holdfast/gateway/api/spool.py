"""Uploads on their way in: kept in a file without a name, which goes with the process however it ends."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from holdfast.store.portable import writing

PIECE = 1024 * 1024
OPEN_FILES = Path("/dev/fd")


@contextlib.asynccontextmanager
async def spooled(chunks: AsyncIterator[bytes], folder: Path | None) -> AsyncIterator[Path]:
    """A path by which this process can read all that comes; StorageFull if the folder has no room for it."""
    place = folder or Path(tempfile.gettempdir())
    with writing(place):
        file = tempfile.TemporaryFile(dir=place)  # noqa: SIM115 (closed below, in a thread)
    waiting = bytearray()

    def keep() -> None:
        with writing(place):
            file.write(waiting)
            file.flush()

    try:
        async for chunk in chunks:
            waiting += chunk
            if len(waiting) >= PIECE:
                await asyncio.to_thread(keep)
                waiting.clear()
        await asyncio.to_thread(keep)
        yield OPEN_FILES / str(file.fileno())
    finally:
        with contextlib.suppress(OSError):  # what could not be written is said already
            file.close()
