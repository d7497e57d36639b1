"""The files of a folder that goes with a store, as a backup has them: each by its path in the folder.

Such files are replaced as a whole, or appended to, so each is copied as it is at one moment. One that is appended to is
copied last: what others say of it is in it then. Locks, and what a writer that died has left, are of no use to anybody.
"""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from holdfast.core.durable_files import make_folder, sync_folder, write_whole, writing
from holdfast.core.errors import Corrupt, InvalidInput

USELESS = (".lock", ".tmp")
APPENDED = ".jsonl"

NamedFile = tuple[str, bytes]


def files_in(folder: Path) -> Iterator[NamedFile]:
    """The files of a folder, one after the other; one that goes meanwhile is left out. Blocks."""
    paths = [Path(at, name) for at, _, names in os.walk(folder) for name in names if not name.endswith(USELESS)]
    for path in sorted(paths, key=lambda each: (each.name.endswith(APPENDED), each)):
        try:
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix(), path.read_bytes()
        except FileNotFoundError:
            continue


class NewFolder:
    """A folder that is filled beside its place, and then put there. Blocks."""

    def __init__(self, path: Path) -> None:
        """InvalidInput if something is at the place already."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InvalidInput(f"{path} is there already", hint="move it away first: it belongs to another store")
        self.path = path
        self._beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")

    def fill(self, files: Iterable[NamedFile]) -> int:
        """Write the files; how many there were. Corrupt if one has a name that leads elsewhere."""
        count = 0
        for name, raw in files:
            parts = PurePosixPath(name).parts
            if not parts or ".." in parts or PurePosixPath(name).is_absolute():
                raise Corrupt(f"the backup is damaged: {name!r:.200} is not a name in it")
            target = self._beside.joinpath(*parts)
            make_folder(target.parent)
            write_whole(target, raw)
            count += 1
        return count

    def put_in_place(self) -> None:
        """Let the folder stand at its place, durably, if there is anything in it."""
        if self._beside.exists():
            with writing(self.path):
                self._beside.replace(self.path)
                sync_folder(self.path.parent)

    def close(self) -> None:
        """Remove what was not put in its place."""
        shutil.rmtree(self._beside, ignore_errors=True)
