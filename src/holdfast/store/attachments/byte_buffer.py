"""Bytes on their way in: kept aside until their digest is known.

What is at hand as `bytes` stays where it is; a stream goes to memory and beyond one part to a temporary file, which
has no name and goes with the process.
"""

import asyncio
import errno
import hashlib
import io
import tempfile
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO

from holdfast.core.errors import InvalidInput, StorageFull, TooLarge

PART = 1024 * 1024


@dataclass(frozen=True, slots=True)
class BufferedUpload:
    """All the bytes of an upload, and what they are."""

    digest: str
    size_bytes: int
    file: IO[bytes]

    async def part(self, number: int) -> bytes:
        """The bytes of one part."""
        return await asyncio.to_thread(self._read, number)

    def _read(self, number: int) -> bytes:
        self.file.seek(number * PART)
        return self.file.read(PART)


def part_count(size_bytes: int) -> int:
    """How many parts hold so many bytes; nothing at all is one empty part."""
    return max(1, -(-size_bytes // PART))


@asynccontextmanager
async def spooled(data: bytes | AsyncIterable[bytes], most: int) -> AsyncIterator[BufferedUpload]:
    """Take in all of `data`; TooLarge as soon as it is more than `most` bytes."""
    if isinstance(data, bytes):
        _check_size(len(data), most)
        digest = await asyncio.to_thread(hashlib.sha256, data)
        yield BufferedUpload(digest.hexdigest(), len(data), io.BytesIO(data))
    elif isinstance(data, AsyncIterable):
        with tempfile.SpooledTemporaryFile(max_size=PART) as spool:
            yield await _drain(data, spool, most)
    else:
        raise InvalidInput(f"an attachment is bytes or an async iterable of bytes, not {type(data).__name__}")


async def _drain(data: AsyncIterable[bytes], file: IO[bytes], most: int) -> BufferedUpload:
    digest, size, waiting = hashlib.sha256(), 0, bytearray()

    def keep() -> None:
        digest.update(waiting)
        try:
            file.write(waiting)
        except OSError as error:
            if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
                raise
            hint = "make room in the temporary folder (TMPDIR)"
            raise StorageFull("there is no room to keep an upload aside; nothing was written", hint=hint) from error

    async for chunk in data:
        if not isinstance(chunk, bytes):
            raise InvalidInput(f"an attachment's stream gives bytes, not {type(chunk).__name__}")
        waiting += chunk
        size += len(chunk)
        _check_size(size, most)
        if len(waiting) >= PART:
            await asyncio.to_thread(keep)
            waiting.clear()
    await asyncio.to_thread(keep)
    return BufferedUpload(digest.hexdigest(), size, file)


def _check_size(size_bytes: int, most: int) -> None:
    if size_bytes > most:
        raise TooLarge(f"an attachment of more than {most} bytes", limit=most)
