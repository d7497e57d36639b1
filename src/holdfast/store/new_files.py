"""What a start, or a restore, makes on the disk: if it comes to nothing, what was not there before is removed.

Only files that are named beforehand are removed, and folders that are empty then. All of it happens under the store's
lock, so what another process has made in the same folder meanwhile is never touched. A database in which there is a
session by now stays.
"""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

BESIDE = ("-wal", "-shm", ".reserve")


class NewFiles:
    """What is not there yet: to be noted before anything is made."""

    def __init__(
        self, lock: Path, *, database: Path | None = None, folders: Iterable[Path] = (), logs: Path | None = None
    ) -> None:
        """`logs` is a folder that only the holder of the lock writes to, and that goes with all that is in it."""
        self.kept = False
        self._lock = None if lock.exists() else lock
        self._database = None if database is None or database.exists() else database
        self._logs = None if logs is None or logs.exists() else logs
        named = {folder.absolute() for folder in (*folders, lock.parent)}
        above = {parent for folder in named for parent in folder.parents}
        absent = [folder for folder in named | above if not folder.exists()]
        self._folders = sorted(absent, key=lambda folder: len(folder.parts), reverse=True)

    @contextmanager
    def removed_unless_kept(self) -> Iterator[None]:
        """Remove them at the end, unless they are to be `kept` by then; within the store's lock."""
        try:
            yield
        finally:
            if not self.kept:
                with suppress(OSError):
                    self._remove()

    def _remove(self) -> None:
        if self._database is not None and self._database.exists():
            _remove_database(self._database)
        if self._logs is not None:
            shutil.rmtree(self._logs, ignore_errors=True)
        if self._lock is not None:
            self._lock.unlink(missing_ok=True)
        for folder in self._folders:
            with suppress(OSError):  # it is not empty, or was never made
                folder.rmdir()


def _remove_database(path: Path) -> None:
    from holdfast.store.sqlite.engine import has_sessions

    if not has_sessions(path):
        for name in ("", *BESIDE):
            Path(f"{path}{name}").unlink(missing_ok=True)
