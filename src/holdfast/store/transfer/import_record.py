"""The record of an import of plain files: copies of what was read, and a manifest of them.

The manifest has every file's size and SHA-256 and, once the import has ended, however it ends, the sessions that it
made and where their logs ended. So an import can be taken back as long as nothing else was written to them.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.core import SystemClock, TimeOrderedIds
from holdfast.core.clock import to_iso
from holdfast.core.errors import InvalidInput

MANIFEST = "manifest.json"


def begin_record(folders: Sequence[Path], place: Path) -> Path:
    """Copy session folders to a new folder of this place, with a manifest; that folder."""
    record = place / TimeOrderedIds()()
    for private in (place, record, record / "sessions"):
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
    files: list[dict[str, Any]] = []
    for folder in folders:
        for path in _files_in(folder):
            target = record / "sessions" / folder.name / path.name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            digest = hashlib.sha256(target.read_bytes()).hexdigest()
            files.append({"file": f"{folder.name}/{path.name}", "size": target.stat().st_size, "sha256": digest})
    _write(record, {"importedAt": to_iso(SystemClock().now()), "files": files})
    return record


def end_record(record: Path, made: Mapping[str, int], extended: Sequence[str]) -> None:
    """Say which sessions the import made, with the seq that each ended at, and which it went on with."""
    known = json.loads((record / MANIFEST).read_bytes())
    _write(record, {**known, "made": made, "extended": extended})


def sessions_made(record: Path) -> dict[str, int]:
    """The sessions that an import made, and where their logs ended; InvalidInput if this is no import's record."""
    try:
        manifest = json.loads((record / MANIFEST).read_bytes())
        return dict(manifest["made"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{record} is not what an import kept: {error}", hint="name the folder that the import printed"
        ) from None


def _files_in(folder: Path) -> list[Path]:
    """The regular files of a folder; none if it is a link or cannot be read, and so is refused."""
    if folder.is_symlink():
        return []
    try:
        return sorted(each for each in folder.iterdir() if each.is_file() and not each.is_symlink())
    except PermissionError:
        return []


def _write(record: Path, manifest: Mapping[str, Any]) -> None:
    (record / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
