"""The workspace: the one folder in which an agent's tools may read and write, files of bounded size.

A path is resolved first, so that a link inside that leads inside is fine; then it is opened without following any
link. One that is put there in between is somebody's trick, and is refused. A file is written beside its place and moved
there, so nobody ever sees half of it. All of this blocks.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.core import confined_files
from holdfast.core.confined_files import OutsideWorkspace
from holdfast.core.errors import InvalidInput, TooLarge

MAX_BYTES = 1024 * 1024
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


def place_in(workspace: Path, path: str) -> str:
    """Where a path really leads, from the workspace's root."""
    return within(workspace, path).relative_to(workspace.resolve()).as_posix()


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


def names_in(folder: int) -> list[str]:
    """What is in a folder that is held open, in order."""
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries)


def read_text(workspace: Path, file_path: str, most: int = MAX_BYTES) -> str:
    """The text of a file in the workspace; InvalidInput if it is not text, TooLarge if it is more than `most` bytes."""
    with (
        folder_of(workspace, file_path) as (folder, name),
        os.fdopen(open_file(folder, name, os.O_RDONLY), "rb") as file,
    ):
        raw = file.read(most + 1)
    if len(raw) > most:
        raise TooLarge(f"{file_path} has more than {most} bytes", limit=most)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{file_path} is not a text file") from None


def write_text(workspace: Path, file_path: str, content: str) -> None:
    """Put a text in a file of the workspace, all of it or nothing."""
    raw = content.encode()
    check_size(len(raw))
    with folder_of(workspace, file_path, make=True) as (folder, name):
        mode = _mode(folder, name)
        beside = f".{os.urandom(8).hex()}.part"
        try:
            with os.fdopen(open_file(folder, beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                os.fchmod(file.fileno(), mode)
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            _remove(folder, beside)
            raise


def append_line(workspace: Path, file_path: str, line: str) -> None:
    """Add a line to a file of the workspace, which is made if it is not there.

    OutsideWorkspace if the file has another name as well, which may be anywhere.
    """
    raw = f"{line}\n".encode()
    check_size(len(raw))
    with (
        folder_of(workspace, file_path, make=True) as (folder, name),
        os.fdopen(open_file(folder, name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "wb") as file,
    ):
        if os.fstat(file.fileno()).st_nlink > 1:
            raise OutsideWorkspace(f"{file_path!r:.200} is a hard link: what is appended would be elsewhere too")
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())


def describe_entry(folder: int, name: str) -> str:
    """What a folder that is held open has under a name."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode):
        return f"{name}/"
    return f"{name} ({found.st_size} bytes)" if stat.S_ISREG(found.st_mode) else f"{name} (not a file)"


def check_size(size: int) -> None:
    """TooLarge if so many bytes are too many for a file."""
    if size > MAX_BYTES:
        raise TooLarge(f"{size} bytes are too many for one file", limit=MAX_BYTES)


@contextmanager
def _opened(workspace: Path, path: Path, *, make: bool = False) -> Iterator[int]:
    root = workspace.resolve()
    with confined_files.folder(root, path.relative_to(root).parts, make=make) as found:
        yield found


def _mode(folder: int, name: str) -> int:
    """The permissions of the file that is there; OutsideWorkspace if it is no ordinary one."""
    try:
        file = open_file(folder, name, os.O_RDONLY)
    except FileNotFoundError:
        return 0o644
    try:
        return stat.S_IMODE(os.fstat(file).st_mode)
    finally:
        os.close(file)


def _remove(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
