"""Files in a folder that nobody is led out of.

Each folder on the way is opened from the one before it and no symbolic link below the root is followed, so what was
checked is what is opened, whatever others do to the path meanwhile. All of this blocks: call it from threads.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from holdfast.core.errors import HoldfastError, InvalidInput, NotFound, TooLarge

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
NO_FILE = frozenset({errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EISDIR})
PIECE = 1024 * 1024


class OutsideWorkspace(HoldfastError):
    """The path leads out of the workspace, or to something that is no file."""

    code: ClassVar[str] = "outside_workspace"
    status: ClassVar[int] = 403


def names_of(path: str) -> tuple[str, ...]:
    """The names on a path below the root, at least one; OutsideWorkspace if it could lead anywhere else."""
    names = tuple(name for name in path.split("/") if name not in {"", "."})
    try:
        path.encode()
    except UnicodeEncodeError:
        names = ()
    if not names or ".." in names or "\0" in path:
        raise OutsideWorkspace(f"{path!r:.200} is not a path in the workspace")
    return names


@contextlib.contextmanager
def folder(root: Path, names: Sequence[str] = (), *, make: bool = False) -> Iterator[int]:
    """An open folder below the root, as a descriptor; with `make`, folders that are not there are made."""
    opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=opened)
            further = os.open(name, FOLDER, dir_fd=opened)
            os.close(opened)
            opened = further
        yield opened
    finally:
        os.close(opened)


def size_of(root: Path, names: Sequence[str]) -> int:
    """How many bytes a file has."""
    with _opened(root, names) as file:
        return os.fstat(file).st_size


def read_file(root: Path, names: Sequence[str], most: int) -> bytes:
    """All of a file; TooLarge if that is more than `most` bytes."""
    found = bytearray()
    with _opened(root, names) as file:
        while piece := os.read(file, PIECE):
            found += piece
            if len(found) > most:
                raise TooLarge(f"{'/'.join(names)!r:.200} has more than {most} bytes", limit=most)
    return bytes(found)


@contextlib.contextmanager
def _opened(root: Path, names: Sequence[str]) -> Iterator[int]:
    shown = f"{'/'.join(names)!r:.200}"
    try:
        with folder(root, names[:-1]) as inside:
            file = os.open(names[-1], FILE, dir_fd=inside)
    except FileNotFoundError:
        raise NotFound(f"there is no file {shown} in the workspace") from None
    except OSError as error:
        if error.errno in NO_FILE:
            raise OutsideWorkspace(f"{shown} is not a file in the workspace; links are not followed") from None
        raise InvalidInput(f"{shown} cannot be read: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OutsideWorkspace(f"{shown} is not a file")
        yield file
    finally:
        os.close(file)
