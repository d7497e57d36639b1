"""Files that are there whole or not at all, also after a power cut. All of this blocks."""

import contextlib
import errno
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from holdfast.core.errors import InvalidInput, StorageFull

FULL = {errno.ENOSPC, errno.EDQUOT}
TEMPORARY = ".tmp"
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the system says against writing at `path`, as StorageFull or InvalidInput."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            hint = "make room on that disk and try again"
            raise StorageFull(f"no room to write {path}", path=str(path), hint=hint) from error
        raise InvalidInput(f"cannot write {path}: {error.strerror or error}", path=str(path)) from error


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder survive a power cut."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are not there; their names survive a power cut."""
    if folder.exists():
        return
    with writing(folder):
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        for each in reversed(missing):
            each.mkdir(mode=0o700, exist_ok=True)
            sync_folder(each.parent)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep out everybody else who enters a folder by this; for whoever reads a file and writes it anew."""
    with writing(folder):
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def write_whole(path: Path, raw: bytes) -> None:
    """Put these bytes at `path`, in the place of what is there: whoever reads finds all of one or all of the other.

    They are written under a name of their own first. After an error nothing has changed.
    """
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}{TEMPORARY}")
    with writing(path):
        file = os.open(temporary, NEW, 0o600)
        try:
            try:
                _write_all(file, raw)
                os.fsync(file)
            finally:
                os.close(file)
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        sync_folder(path.parent)


def append_after(path: Path, size: int, raw: bytes) -> int:
    """Write these bytes behind the first `size` of a file, and nothing behind them; its size then.

    What another process has left there, half written, before it died goes. A file that is shorter is appended to.
    """
    with writing(path):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            start = min(size, os.fstat(file).st_size)
            os.ftruncate(file, start)
            os.lseek(file, start, os.SEEK_SET)
            _write_all(file, raw)
            os.fsync(file)
        finally:
            os.close(file)
        sync_folder(path.parent)
    return start + len(raw)


def remove_temporaries(path: Path) -> None:
    """Remove what writers of `path` that died have left; for whoever alone may write there."""
    for left in path.parent.glob(f"{path.name}.*{TEMPORARY}"):
        with contextlib.suppress(OSError):
            left.unlink()


def _write_all(file: int, raw: bytes) -> None:
    rest = memoryview(raw)
    while rest:
        rest = rest[os.write(file, rest) :]
