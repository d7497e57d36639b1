"""The files of the workspace: read, written and listed, each of bounded size.

A file is written beside its place and moved there, so nobody ever sees half of it. All of this blocks.
"""

import os
import stat
from pathlib import Path

from holdfast.core.errors import InvalidInput, TooLarge
from holdfast.runtime.workspace import folder_of, open_file

MAX_BYTES = 1024 * 1024


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
    """Add a line to a file of the workspace, which is made if it is not there."""
    raw = f"{line}\n".encode()
    check_size(len(raw))
    with (
        folder_of(workspace, file_path, make=True) as (folder, name),
        os.fdopen(open_file(folder, name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "wb") as file,
    ):
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())


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


def described(folder: int, name: str) -> str:
    """What a folder that is held open has under a name."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode):
        return f"{name}/"
    return f"{name} ({found.st_size} bytes)" if stat.S_ISREG(found.st_mode) else f"{name} (not a file)"


def check_size(size: int) -> None:
    """TooLarge if so many bytes are too many for a file."""
    if size > MAX_BYTES:
        raise TooLarge(f"{size} bytes are too many for one file", limit=MAX_BYTES)
