"""What a guard knows of the files that it has kept, from one run to the next: it saves time, and decides nothing.

A file is left alone only if nobody has written to it since, and the store's log of its session ends where it ended
then, with the same hash. Else it is looked at as if it were not known. So this may be lost, old, or of another store,
and no line is missed for it.
"""

import contextlib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from holdfast.core.durable_files import make_folder, write_whole
from holdfast.core.errors import HoldfastError
from holdfast.transcripts.guard.watch import FileSignature


class LogEnd(NamedTuple):
    """Where a session's log ends: its last seq, and the hash of all of it in hex."""

    seq: int
    hash: str


class KnownFile(NamedTuple):
    """A file, the session that has all of its lines, and where that session's log ended then."""

    signature: FileSignature
    session_id: str
    end: LogEnd


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, KnownFile]).decode


class KnownFiles:
    """The files of one watch that are known, in a file in `place`. All of this blocks."""

    def __init__(self, place: Path, source: str, folder: Path) -> None:
        self._file = place / f"{source}-{sha256(bytes(folder.absolute())).hexdigest()[:16]}.json"
        self._files: dict[str, KnownFile] | None = None

    def unchanged(self, files: Mapping[Path, FileSignature]) -> dict[Path, KnownFile]:
        """Those of the files that are known, and to which nobody has written since."""
        known = self._read()
        found = {path: known[str(path)] for path in files if str(path) in known}
        return {path: each for path, each in found.items() if each.signature == files[path]}

    def note(self, files: Mapping[Path, KnownFile]) -> None:
        """Know these files too, and forget those that are gone; it does not matter if that cannot be written."""
        known = self._read() | {str(path): each for path, each in files.items()}
        self._files = {path: each for path, each in known.items() if Path(path).exists()}
        with contextlib.suppress(HoldfastError):
            make_folder(self._file.parent)
            write_whole(self._file, _encode(self._files))

    def _read(self) -> dict[str, KnownFile]:
        if self._files is None:
            try:
                self._files = _decode(self._file.read_bytes())
            except (OSError, ValueError):
                self._files = {}
        return self._files
