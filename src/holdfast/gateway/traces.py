"""What a gateway makes when it starts: if it never comes to serve, it removes what was not there before.

Only files that a start makes are removed, by their names, and folders that are empty then. All of it happens under the
store's lock, so what another gateway has made in the same folder meanwhile is never touched. A database in which there
is a session by now stays.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.gateway.operations.log_files import LINK

BESIDE = ("-wal", "-shm", ".reserve")


class Traces:
    """What was not there before a start: to be made before anything else is."""

    def __init__(self, data: Path, database: Path | None, lock: Path, log_folder: Path) -> None:
        self.served = False
        self._database = None if database is None or database.exists() else database
        self._lock = None if lock.exists() else lock
        self._log_folder = None if log_folder.exists() else log_folder
        folders = {data.absolute(), data.absolute() / "workspace", lock.absolute().parent}
        above = {parent for folder in folders for parent in folder.parents}
        absent = [each for each in folders | above if not each.exists()]
        self._folders = sorted(absent, key=lambda each: len(each.parts), reverse=True)

    @contextmanager
    def removed_unless_served(self) -> Iterator[None]:
        """Remove it at the end, unless the gateway has `served` by then; under the store's lock."""
        try:
            yield
        finally:
            if not self.served:
                with suppress(OSError):
                    self._remove()

    def _remove(self) -> None:
        if self._database is not None and self._database.exists():
            _remove_database(self._database)
        if self._log_folder is not None and self._log_folder.is_dir():
            for each in (self._log_folder / LINK, *self._log_folder.glob("gateway-*.log")):
                each.unlink(missing_ok=True)
            self._log_folder.rmdir()
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
