"""A folder of backups: each named by when it was begun, the newest kept, what was cut off removed.

While sessions are damaged, the newest backup from before they were is kept too.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from holdfast.core import HoldfastError
from holdfast.core.errors import StoreUnavailable
from holdfast.store.backup import PART, Backup, damaged_sessions, remove_unfinished

NAME = re.compile(r"holdfast-(\d{8}T\d{6})\.(\d{3})Z\.backup")
HINT = "name a folder that can be written: --backup-folder"
STAMP = "%Y%m%dT%H%M%S"


@dataclass(frozen=True, slots=True)
class LastBackup:
    """A backup that this gateway has made, when, and how many of its sessions were damaged."""

    at: int
    path: Path
    damaged: int


@dataclass(frozen=True, slots=True)
class Backups:
    """The folder, and how many are kept there."""

    folder: Path
    keep: int

    def path_at(self, ms: int) -> Path:
        """The name of a backup that is begun at a time."""
        seconds, millis = divmod(ms, 1000)
        return self.folder / f"holdfast-{datetime.fromtimestamp(seconds, UTC):{STAMP}}.{millis:03d}Z.backup"

    def newest(self, now: int) -> int | None:
        """When the newest one was begun, in milliseconds; one from the future (a clock was wrong) does not count."""
        begun = (_begun(path) for path in self._all())
        return max((each for each in begun if each <= now), default=None)

    def remove_old(self, made: Backup) -> list[Path]:
        """Remove all but the newest; the one just made stays, whatever the clock says, and the last sound one."""
        others = [path for path in self._all() if path != made.path]
        gone = others[: max(0, len(others) - self.keep + 1)]
        if gone and made.damaged and not any(map(_is_sound, others[len(gone) :])):
            last = next((path for path in reversed(gone) if _is_sound(path)), None)
            gone = [path for path in gone if path != last]
        for path in gone:
            path.unlink(missing_ok=True)
        return gone

    def prepare(self) -> None:
        """Make the folder, and remove what is left of backups that were cut off; for whoever alone makes them here."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"cannot use {self.folder}: {error.strerror}", hint=HINT) from error
        for each in list(self.folder.iterdir()):
            name = each.name.removeprefix(".").split(PART)[0]
            if PART in each.name and NAME.fullmatch(name):
                remove_unfinished(self.folder / name)

    def _all(self) -> list[Path]:
        """The copies that there are, oldest first."""
        if not self.folder.is_dir():
            return []
        return sorted(path for path in self.folder.iterdir() if NAME.fullmatch(path.name))


def _is_sound(path: Path) -> bool:
    """Whether no session was damaged when a backup was made, as far as it says."""
    try:
        return not damaged_sessions(path)
    except (HoldfastError, OSError, ImportError):  # another engine's, whose driver is not here
        return False


def _begun(path: Path) -> int:
    found = NAME.fullmatch(path.name)
    assert found is not None
    return int(datetime.strptime(found[1], STAMP).replace(tzinfo=UTC).timestamp()) * 1000 + int(found[2])
