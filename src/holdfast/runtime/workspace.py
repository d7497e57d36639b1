"""The workspace: the one folder in which an agent's tools may read and write.

A path is resolved first, so that a link inside that leads inside is fine; then it is opened without following any
link. One that is put there in between is somebody's trick, and is refused.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.core import confined_files
from holdfast.core.confined_files import OutsideWorkspace

NEVER = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def within(workspace: Path, path: str) -> Path:
    """The real path of a file or folder in the workspace; OutsideWorkspace if it is anywhere else, also by a link."""
    root = workspace.resolve()
    if not path or "\0" in path or ".." in Path(path).parts:
        raise OutsideWorkspace(f"{path!r:.200} is not a path in the workspace")
    found = (root / path).resolve()
    if not found.is_relative_to(root):
        raise OutsideWorkspace(f"{path!r:.200} is outside the workspace")
    return found


@contextmanager
def open_folder(workspace: Path, path: str) -> Iterator[int]:
    """A folder of the workspace, or the workspace itself, held open."""
    with _opened(workspace, within(workspace, path)) as found:
        yield found


@contextmanager
def folder_of(workspace: Path, file_path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder that a file is in, held open, and the file's name in it; with `make` the folders are made."""
    path = within(workspace, file_path)
    if path == workspace.resolve():
        raise OutsideWorkspace(f"{file_path!r:.200} is the workspace itself")
    with _opened(workspace, path.parent, make=make) as found:
        yield found, path.name


def open_file(folder: int, name: str, flags: int) -> int:
    """A file of a folder that is held open; OutsideWorkspace if it is no ordinary file."""
    file = os.open(name, flags | NEVER, 0o644, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OutsideWorkspace(f"{name!r:.200} is not an ordinary file")
    return file


@contextmanager
def _opened(workspace: Path, path: Path, *, make: bool = False) -> Iterator[int]:
    root = workspace.resolve()
    with confined_files.folder(root, path.relative_to(root).parts, make=make) as found:
        yield found
