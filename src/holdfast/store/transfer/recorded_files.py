"""The files of an import's record: copies of what was read, or, of our own older layout, the files themselves.

A file is copied under a name of its own first, so that what stands in a record is whole. All of this blocks.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from holdfast.core.durable_files import make_folder, sync_folder, writing

CHUNK = 1024 * 1024
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
PART = ".part"
MOST_SYNCS = 100
"""Files that are synced one by one; of more the whole machine is synced once, which takes less long."""


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file that was read: where it was, its name in the record, and what it was when the import began."""

    source: Path
    archive: str
    size: int
    sha256: str

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> "RecordedFile":
        """The file that a manifest says."""
        return cls(Path(said["source"]), said["archive"], said["size"], said["sha256"])

    def to_json(self) -> dict[str, Any]:
        """The file as a manifest says it."""
        return {**asdict(self), "source": str(self.source)}


def regular_files(folder: Path) -> list[Path]:
    """The regular files of a folder; none if it is a link or cannot be read, and so is refused."""
    if folder.is_symlink():
        return []
    try:
        return sorted(each for each in folder.iterdir() if each.is_file() and not each.is_symlink())
    except PermissionError:
        return []


def measured(source: Path, archive: str) -> RecordedFile | None:
    """A file as it is now; None if it is no regular file, or cannot be read: whoever reads it says so."""
    try:
        with _open(source) as file:
            digest = hashlib.sha256()
            size = 0
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                size += len(chunk)
    except OSError:
        return None
    return RecordedFile(source.absolute(), archive, size, digest.hexdigest())


def copy_in(files: Sequence[RecordedFile], record: Path) -> list[RecordedFile]:
    """Copy files as they were when they were measured: what one has grown by since is left out.

    Those that the record has, as they are there: one may have gone since, or say something else.
    """
    kept: list[RecordedFile] = []
    copies: list[Path] = []
    for file in files:
        path = record / file.archive
        there = measured(path, file.archive)
        if there is None or there.sha256 != file.sha256:
            there = _copy(file, path)
            copies += [] if there is None else [path]
        if there is not None:
            kept.append(replace(file, size=there.size, sha256=there.sha256))
    if len(copies) > MOST_SYNCS:
        os.sync()
        return kept
    for path in copies:
        _sync(path)
    _sync_folders(path.parent for path in copies)
    return kept


def move_in(files: Sequence[RecordedFile], record: Path) -> None:
    """Move files; one that was moved before, or has gone, stays as it is."""
    for file in files:
        _move(file.source, record / file.archive)
    _sync_folders(folder for file in files for folder in (file.source.parent, (record / file.archive).parent))


def put_back(file: RecordedFile, record: Path) -> bool:
    """Move a file back to where it was; False if something is there."""
    if os.path.lexists(file.source):
        return False
    _move(record / file.archive, file.source)
    _sync_folders((file.source.parent, (record / file.archive).parent))
    return True


def _copy(file: RecordedFile, target: Path) -> RecordedFile | None:
    """Copy a file; the copy, or None if there is nothing to copy any more: whoever reads it says so."""
    try:
        source = _open(file.source)
    except OSError:
        return None
    make_folder(target.parent)
    part = target.with_name(target.name + PART)
    digest, left = hashlib.sha256(), file.size
    with writing(target), source, part.open("wb") as copy:
        while left and (chunk := source.read(min(CHUNK, left))):
            copy.write(chunk)
            digest.update(chunk)
            left -= len(chunk)
        copy.flush()
        part.replace(target)
    return RecordedFile(file.source, file.archive, file.size - left, digest.hexdigest())


def _move(source: Path, target: Path) -> None:
    """Move a file, also to another disk: at each moment it is whole in one of the places, or in both."""
    if not os.path.lexists(source):
        return
    make_folder(target.parent)
    with writing(target):
        try:
            source.rename(target)
        except OSError:
            part = target.with_name(target.name + PART)
            shutil.copyfile(source, part)
            shutil.copystat(source, part)
            _sync(part)
            part.replace(target)
            sync_folder(target.parent)
            source.unlink()


def _sync(path: Path) -> None:
    with writing(path), path.open("rb") as file:
        os.fsync(file.fileno())


def _sync_folders(folders: Iterable[Path]) -> None:
    for folder in set(folders):
        if folder.is_dir():
            sync_folder(folder)


def _open(path: Path) -> IO[bytes]:
    """A regular file, never through a link."""
    file = os.open(path, READ)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(file, "rb")
