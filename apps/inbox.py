"""What waits for a program: one file for each thing, which is on the disk before its sender is told so.

A file goes from `inbox/` to `done/`, `failed/` or `refused/`, and stays there: so the same thing sent again is known,
and whatever came in is in exactly one place. Files are put here by name, whole: those that begin with a dot or end
with `.tmp` are still being written.
"""

import hashlib
import os
import re
import time
from pathlib import Path

from holdfast.core.durable_files import alone_in, make_folder, sync_folder, write_whole

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
PLACES = ("inbox", "done", "failed", "refused")
SECONDS_TO_SETTLE = 2.0
"""How old a file must be before it counts as broken: a copy that is under way looks broken too."""


class OtherContent(Exception):
    """There is something of this name already, and it is something else."""


class Inbox:
    """A folder of things to be done; `suffix` is that of their files."""

    def __init__(self, folder: Path, suffix: str) -> None:
        self._folder = folder
        self._suffix = suffix
        for place in PLACES:
            make_folder(folder / place)

    def put(self, name: str, raw: bytes) -> bool:
        """Keep something; whether it is new. OtherContent if that name is another thing's."""
        with alone_in(self._folder):
            for place in PLACES:
                there = self.path(place, name)
                if there.exists():
                    if there.read_bytes() != raw:
                        raise OtherContent(f"{name} is in {place}/ already, with another content")
                    return False
            write_whole(self.path("inbox", name), raw)
            return True

    def waiting(self) -> list[str]:
        """The names of what waits, in the order of their names."""
        found = [path for path in (self._folder / "inbox").iterdir() if path.suffix == self._suffix and path.is_file()]
        return sorted(path.stem for path in found if not path.name.startswith("."))

    def refuse_names(self) -> list[str]:
        """Move away what has a name that nothing can be done under; the names that it had."""
        bad = [name for name in self.waiting() if not NAME.fullmatch(name)]
        for name in bad:
            source = self._folder / "inbox" / f"{name}{self._suffix}"
            mark = hashlib.sha256(os.fsencode(source.name)).hexdigest()[:16]
            source.replace(self.path("refused", f"named-{mark}"))
        return bad

    def read(self, name: str) -> bytes:
        """What waits under a name."""
        return self.path("inbox", name).read_bytes()

    def settled(self, name: str) -> bool:
        """Whether nobody can still be writing it."""
        return time.time() - self.path("inbox", name).stat().st_mtime > SECONDS_TO_SETTLE

    def move(self, name: str, to: str) -> None:
        """Put what waited where it belongs now; what is there under its name is the same, or goes beside it."""
        source, target = self.path("inbox", name), self.path(to, name)
        if target.exists() and target.read_bytes() != source.read_bytes():
            number = 2
            while target.exists():
                target = self.path(to, f"{name}-{number}")
                number += 1
        source.replace(target)
        sync_folder(target.parent)
        sync_folder(source.parent)

    def place_of(self, name: str) -> str | None:
        """Where something is; None if it never came."""
        return next((place for place in PLACES if self.path(place, name).exists()), None)

    def count(self, place: str) -> int:
        """How much is in a place."""
        return sum(path.suffix == self._suffix for path in (self._folder / place).iterdir())

    def path(self, place: str, name: str) -> Path:
        """The file of a thing in a place."""
        if not NAME.fullmatch(name):
            raise OtherContent(f"{name!r:.80} is not a name: letters, digits, '.', '_' and '-', at most 120")
        return self._folder / place / f"{name}{self._suffix}"
