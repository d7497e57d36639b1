"""Files that are there whole or not at all, also after a power cut."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from holdfast.core.durable_files import sync_folder, writing
from holdfast.core.errors import Conflict

__all__ = ["Output", "lock", "locked", "replacing", "sync_folder", "writing"]


class Output:
    """A file that is being written; what the system says against it is a HoldfastError."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file

    def write(self, data: bytes) -> None:
        """Take all of the bytes."""
        with writing(self._path):
            self._file.write(data)

    def sync(self) -> None:
        """Wait until everything written is on the disk."""
        with writing(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Output]:
    """A file to write; on leaving it is on the disk and stands at `path`, after an error nothing has changed.

    It is written as `path` with `.tmp` added, which a second writer of the same path cannot use meanwhile: Conflict.
    """
    temporary = path.with_name(path.name + ".tmp")
    with writing(path):
        file = os.fdopen(locked(temporary), "wb")
    try:
        out = Output(path, file)
        yield out
        out.sync()
        with writing(path):
            temporary.rename(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    finally:
        with contextlib.suppress(OSError):  # what could not be written is said already
            file.close()
    with writing(path):
        sync_folder(path.parent)


def lock(file: int, path: Path) -> None:
    """Keep other writers out until the file is closed; Conflict if there is one."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Conflict(f"{path} is being written by another process", path=str(path)) from None


def locked(path: Path) -> int:
    """The file, empty and locked until it is closed; its name is still its own when this returns. Conflict."""
    while True:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            lock(file, path)
            with contextlib.suppress(FileNotFoundError):  # its last writer has just renamed it
                if os.path.samestat(path.lstat(), os.fstat(file)):
                    os.ftruncate(file, 0)
                    return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)
