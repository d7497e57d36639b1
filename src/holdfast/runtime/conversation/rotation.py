"""Rotation: as a conversation's file grows, what it was before is kept beside it, a bounded number of times.

The file itself is never moved away: its older state gets a second name before the newer one takes its place.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from holdfast.core.durable_files import writing


def is_due(size: int, rotated_at: int, rotate_after: int) -> bool:
    """Whether a file of this size has grown by so much since its size at the last rotation."""
    return size - rotated_at >= rotate_after


def rotated(path: Path, number: int) -> Path:
    """Where the state of a file is that was kept `number` rotations ago."""
    return path.with_name(f"{path.stem}.{number}{path.suffix}")


def keep_previous(path: Path, most: int) -> None:
    """Keep the file as it is under its first rotated name; the older ones move on, and the oldest goes."""
    with writing(path), suppress(FileNotFoundError):
        if most < 1 or (rotated(path, 1).exists() and path.samefile(rotated(path, 1))):
            return  # a writer that died has kept it already
        for number in range(most - 1, 0, -1):
            with suppress(FileNotFoundError):
                rotated(path, number).replace(rotated(path, number + 1))
        try:
            os.link(path, rotated(path, 1))
        except FileNotFoundError:
            raise
        except OSError:  # a file system without links
            shutil.copyfile(path, rotated(path, 1))
