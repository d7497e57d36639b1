"""The record of an import: what was read, and which sessions came of it.

A record is a folder with a manifest, which is on the disk before anything else happens: every file that is read, its
place in the record, its size and SHA-256. A journal beside it names each session before it is made, and where its log
ends. So an import that was killed at any moment is gone on with, under the same record, and an import can be taken
back, also one that never ended. When an import ends, the manifest says what it made.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from holdfast.core import SystemClock, TimeOrderedIds
from holdfast.core.clock import to_iso
from holdfast.core.durable_files import make_folder, sync_folder, write_whole, writing
from holdfast.core.errors import InvalidInput
from holdfast.store.portable.durable import lock
from holdfast.store.transfer.recorded_files import RecordedFile, copy_in, measured, move_in, put_back

MANIFEST = "manifest.json"
JOURNAL = "journal.jsonl"

JOURNAL_MODE = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class ImportRecord:
    """An import's record while the import runs; nobody else writes it meanwhile. All of this blocks."""

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path = path
        self.files = tuple(RecordedFile.from_json(each) for each in manifest["files"])
        self.made: dict[str, int] = {}
        """The sessions that this import made, or was about to make, and where their logs end."""
        self.extended: dict[str, int] = {}
        """The sessions that were there, and where their logs ended before this import."""
        self.moving: tuple[RecordedFile, ...] | None = None
        """What is to be moved here; None as long as not every session is in the store."""
        self._manifest = manifest
        with writing(path):
            self._journal = os.open(path / JOURNAL, JOURNAL_MODE, 0o600)
        try:
            lock(self._journal, path)
            self._read_journal()
        except BaseException:
            os.close(self._journal)
            raise

    def __enter__(self) -> "ImportRecord":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._journal)

    def copy(self) -> None:
        """Copy the files that are not here yet. The manifest then says what there is, if some changed meanwhile."""
        there = tuple(copy_in(self.files, self.path))
        if there != self.files:
            self.files = there
            self._manifest["files"] = [file.to_json() for file in there]
            _write(self.path, self._manifest)

    def making(self, sessions: Mapping[str, int]) -> None:
        """Say, durably, which sessions are about to be made and where their logs will end."""
        self._note([{"making": name, "head": head} for name, head in sessions.items()])
        self.made |= sessions

    def not_made(self, session_id: str) -> None:
        """Say that a session which was to be made was refused."""
        self._note([{"refused": session_id}])
        self.made.pop(session_id, None)

    def extending(self, session_id: str, head: int) -> None:
        """Say that a session is gone on with, which was there with this head."""
        if session_id not in self.extended:
            self._note([{"extending": session_id, "head": head}])
            self.extended[session_id] = head

    def move(self, files: Iterable[RecordedFile]) -> None:
        """Move these files here, the sessions of which are in the store; an import that dies meanwhile goes on here."""
        if self.moving is None:
            self.moving = tuple(files)
            self._note([{"moving": [file.archive for file in self.moving]}])
        move_in(self.moving, self.path)

    def end(self) -> None:
        """Say that the import has ended, and what it made."""
        ended = {"made": self.made, "extended": self.extended, "endedAt": to_iso(SystemClock().now())}
        if self.moving is not None:
            ended["moved"] = [file.archive for file in self.moving]
        self._manifest |= ended
        _write(self.path, self._manifest)

    def give_way(self) -> Path | None:
        """Remove this record, of an import that changed nothing, if an earlier one of the same has all of its files.

        Where that one is; None if there is none, and this one stays.
        """
        earlier = _same(self.path, self._manifest)
        if earlier is not None:
            shutil.rmtree(self.path)
            sync_folder(self.path.parent)
        return earlier

    def _note(self, lines: Sequence[Mapping[str, Any]]) -> None:
        raw = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        with writing(self.path / JOURNAL):
            rest = memoryview(raw)
            while rest:
                rest = rest[os.write(self._journal, rest) :]
            os.fsync(self._journal)

    def _read_journal(self) -> None:
        raw = (self.path / JOURNAL).read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        os.ftruncate(self._journal, len(whole))
        for line in whole.splitlines():
            said = json.loads(line)
            match said:
                case {"making": name, "head": head}:
                    self.made[name] = head
                case {"refused": name}:
                    self.made.pop(name, None)
                case {"extending": name, "head": head}:
                    self.extended[name] = head
                case {"moving": names}:
                    self.moving = tuple(file for file in self.files if file.archive in set(names))


def origin(source: str, folder: Path) -> dict[str, Any]:
    """What a record says of where its import came from."""
    return {"source": source, "folder": str(folder.absolute())}


def begin_record(place: Path, about: Mapping[str, Any], files: Iterable[tuple[Path, str]]) -> ImportRecord:
    """The record of an import of these files, each with its name in the record.

    An import of the same, as `about` says it, that has not ended is gone on with; else the record is a new folder of
    this place. Conflict if another process is at it.
    """
    found = [measured(source, name) for source, name in files]
    here = [file.to_json() for file in found if file is not None]
    unfinished = _unfinished(place, about)
    if unfinished is None:
        path, before = place / TimeOrderedIds()(), []
        manifest = {"importedAt": to_iso(SystemClock().now()), **about}
    else:
        path, manifest = unfinished
        names = {each["archive"] for each in here}
        before = [each for each in manifest["files"] if each["archive"] not in names]
    make_folder(path)
    manifest["files"] = [*before, *here]
    _write(path, manifest)
    return ImportRecord(path, manifest)


def unfinished_record(place: Path, about: Mapping[str, Any]) -> ImportRecord | None:
    """The record of an import of this that has not ended; Conflict if another process is at it."""
    found = _unfinished(place, about)
    return None if found is None else ImportRecord(*found)


def sessions_made(record: Path) -> dict[str, int]:
    """The sessions that an import made, and where their logs ended; InvalidInput if this is no import's record."""
    manifest = read_manifest(record)
    if "made" in manifest:
        return dict(manifest["made"])
    with ImportRecord(record, manifest) as unfinished:
        return dict(unfinished.made)


def read_manifest(record: Path) -> dict[str, Any]:
    """What a record says of its import; InvalidInput if it is none."""
    try:
        manifest = json.loads((record / MANIFEST).read_bytes())
        files, made = list(manifest["files"]), dict(manifest.get("made", {}))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(
            f"{record} is not what an import kept: {error}", hint="name the folder that the import printed"
        ) from None
    return {**manifest, "files": files, **({"made": made} if "made" in manifest else {})}


def restore_files(record: Path) -> tuple[list[Path], list[Path]]:
    """Move back what an import moved; what is back, and what stays here because something else is in its place."""
    manifest = read_manifest(record)
    back: list[Path] = []
    taken: list[Path] = []
    with ImportRecord(record, manifest) as journal:
        for file in reversed(journal.moving or ()):
            if (record / file.archive).exists():
                (back if put_back(file, record) else taken).append(file.source)
    return back, taken


def records(place: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The records of a place and their manifests, oldest first."""
    with contextlib.suppress(FileNotFoundError):
        for path in sorted(place.iterdir()):
            with contextlib.suppress(InvalidInput):
                yield path, read_manifest(path)


def _same(record: Path, manifest: Mapping[str, Any]) -> Path | None:
    """The newest record beside this one of an import of the same that has ended and has the same files."""
    about = {name: manifest.get(name) for name in ("source", "folder", "moves", "masks")}
    files = {(each["archive"], each["sha256"]) for each in manifest["files"]}
    for path, other in list(records(record.parent))[::-1]:
        there = {(each["archive"], each["sha256"]) for each in other["files"]}
        same = all(other.get(name) == value for name, value in about.items())
        if path != record and "endedAt" in other and same and files <= there:
            return path
    return None


def _unfinished(place: Path, about: Mapping[str, Any]) -> tuple[Path, dict[str, Any]] | None:
    for path, manifest in records(place):
        if "endedAt" not in manifest and all(manifest.get(name) == value for name, value in about.items()):
            return path, manifest
    return None


def _write(record: Path, manifest: Mapping[str, Any]) -> None:
    write_whole(record / MANIFEST, json.dumps(manifest, indent=2).encode() + b"\n")
    sync_folder(record.parent)
