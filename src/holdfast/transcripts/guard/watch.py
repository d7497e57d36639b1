"""Which files of a folder have changed since they were kept: by identity, size and time, all in memory.

A look takes one call of the system for each file and folder, and reads none; folders are listed again only if one of
them has changed. What is not known yet counts as changed.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

from holdfast.transcripts.files.folder_walk import SAME_MOMENT_NS, FolderWalk
from holdfast.transcripts.guard.source import FileSource


class FileSignature(NamedTuple):
    """By what it is seen that nobody has written to a file."""

    inode: int
    size: int
    mtime_ns: int


class FolderWatch:
    """The session files of one folder, and what was last seen of those that are kept."""

    def __init__(self, source: FileSource, folder: Path) -> None:
        self.source = source
        self.folder = folder
        self._kept: dict[str, FileSignature] = {}
        self._walk: FolderWalk | None = None
        self._paths: list[str] = []
        self._looked_ns = 0

    def changes(self) -> dict[Path, FileSignature]:
        """The files that are not kept as they are now, in the source's order; those that are gone are forgotten."""
        if self._walk is None or not self._walk.is_current():
            self._list()
        self._looked_ns = time.time_ns()
        found: dict[Path, FileSignature] = {}
        for path in self._paths:
            signature = signature_of(path)
            if signature is not None and self._kept.get(path) != signature:
                found[Path(path)] = signature
        return found

    def keep(self, path: Path, signature: FileSignature) -> None:
        """Note that a file was kept as it was when this was seen of it."""
        self._kept[str(path)] = signature

    def is_settled(self, signature: FileSignature) -> bool:
        """Whether what was seen at the last look tells of every later change: a write at that same moment may not."""
        return signature.mtime_ns < self._looked_ns - SAME_MOMENT_NS

    def __len__(self) -> int:
        return len(self._kept)

    def _list(self) -> None:
        walk = FolderWalk()
        self._paths = [str(path) for path in self.source.paths(self.folder, walk)]
        self._walk = walk
        for gone in self._kept.keys() - set(self._paths):
            del self._kept[gone]


def signature_of(path: str) -> FileSignature | None:
    """What is seen of a file; None if it is not there."""
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return FileSignature(seen.st_ino, seen.st_size, seen.st_mtime_ns)
