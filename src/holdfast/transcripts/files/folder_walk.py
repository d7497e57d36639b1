"""The names in another program's folders, in one order, whatever may be wrong with them; and whether they have changed.

A folder's time changes with every name that comes or goes. So whoever remembers the times of all folders of a walk
need not walk again until one of them is another, or is so recent that a name may have come in the same moment.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.transcripts.files.line_file import UnreadableFile, refusal

SAME_MOMENT_NS = 100_000_000

Names = Callable[[Path], list[str]]


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; none if it is not there, or is no folder; UnreadableFile if it may not be read."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are all that is wanted, of very many
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise refusal(folder, error) from None


def refuse_links(folder: Path, path: Path) -> None:
    """UnreadableFile if a folder on the way from `folder` to `path` is a link: what is behind it lies elsewhere."""
    if not path.is_relative_to(folder):
        return
    for part in path.relative_to(folder).parts[:-1]:
        folder = folder / part
        if folder.is_symlink():
            raise UnreadableFile(f"{path} is behind a link, {folder}", hint="name the folder itself", file=str(path))


class FolderWalk:
    """Lists folders, and remembers when each of them was last changed."""

    def __init__(self) -> None:
        self._states: dict[str, tuple[int, int] | None] = {}
        self._began = time.time_ns()

    def __call__(self, folder: Path) -> list[str]:
        """The names in a folder."""
        self._states[str(folder)] = _state(str(folder))
        return names_in(folder)

    def is_current(self) -> bool:
        """Whether the folders have the same names as when they were listed."""
        newest = max((state[1] for state in self._states.values() if state), default=0)
        if newest > self._began - SAME_MOMENT_NS:
            return False
        return all(_state(folder) == state for folder, state in self._states.items())


def _state(folder: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(folder)  # noqa: PTH116 - ten thousand times a second
    except OSError:
        return None
    return seen.st_ino, seen.st_mtime_ns
