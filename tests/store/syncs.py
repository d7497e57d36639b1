"""What is made durable, and in which order: the syncs and renames of this process, noted while they happen."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest


class Step(NamedTuple):
    """A file or folder was synced, or a file got this name; with the size that the file had at that moment."""

    what: str
    path: Path
    size: int


def noted(monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """The steps from now on; each is done as it always is."""
    found: list[Step] = []
    fsync, rename = os.fsync, os.rename

    def watched_fsync(file: int) -> None:
        path = Path(f"/proc/self/fd/{file}").readlink()
        found.append(Step("sync", path, _size(path)))
        fsync(file)

    def watched_rename(source: Path, target: Path) -> None:
        found.append(Step("rename", Path(target), _size(Path(source))))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "rename", watched_rename)
    return found


def _size(path: Path) -> int:
    return 0 if path.is_dir() else path.stat().st_size
