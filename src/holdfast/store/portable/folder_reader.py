"""Reads a session's folder for import, whoever wrote it.

Every line becomes an event with an id that is the same on every reading, so importing twice changes nothing.
Forgiven is one thing only: a last line that was torn off in the middle is left out and reported. Anything else that
is not as it should be is refused, by file and line.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.core import NewEvent, strict_json
from holdfast.core.errors import InvalidInput, InvalidJson
from holdfast.core.ids import check_session_id
from holdfast.store.portable.files_layout import (
    ACTIONS,
    FINAL,
    INITIAL,
    METADATA,
    RESPONSES,
    STATE,
    FolderEvent,
    decode_entry,
    state_document,
    state_version,
)
from holdfast.store.portable.limits import DEFAULT
from holdfast.store.portable.line_reader import Lines
from holdfast.store.portable.refusal import refuse, refuse_line

CHUNK = 64 * 1024
MAX_DOCUMENT = 64 * 1024 * 1024


class Skipped(NamedTuple):
    """A line that was left out, and why."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """What a folder holds. `entries` can be read once; `skipped` is complete when they have been."""

    session_id: str
    entries: Iterator[FolderEvent]
    state: dict[str, Any] | None
    metadata: dict[str, Any] | None
    initial: Any
    final: Any
    skipped: list[Skipped] = field(default_factory=list)
    version: int | None = None

    @property
    def events(self) -> Iterator[NewEvent]:
        """The events of the lines, without those that were erased."""
        for entry in self.entries:
            if entry.erased is None:
                yield entry.event
            else:
                self.skipped.append(Skipped(entry.file, entry.line, "erased: its details are gone"))


def session_folders(root: Path) -> list[Path]:
    """The folders under `root/sessions`, or under `root` itself if there is no such folder, in the order of names."""
    inner = root / "sessions"
    try:
        found = (inner if inner.is_dir() else root).iterdir()
        return sorted(path for path in found if path.is_dir() or path.is_symlink())
    except OSError as error:
        raise refuse("unreadable", f"{root} cannot be read: {error.strerror}") from None


def is_session(path: Path) -> bool:
    """Whether a folder has any of a session's files, or may have them: one that cannot be looked into."""
    try:
        return any(os.path.lexists(path / name) for name in (ACTIONS, RESPONSES, STATE, METADATA, INITIAL, FINAL))
    except OSError:
        return True


def read_folder(path: Path) -> SessionFolder:
    """The session in a folder whose name is its id; BadArchive for what is wrong with it."""
    try:
        session_id = check_session_id(path.name)
    except InvalidInput as error:
        raise refuse_line(error, path.name) from None
    try:
        if not stat.S_ISDIR(path.lstat().st_mode):
            raise refuse("not_a_folder", "is not a folder, or a link to one", path.name)
    except OSError as error:
        raise refuse("unreadable", f"cannot be read: {error.strerror}", path.name) from None
    state = _document(path / STATE, dict)
    skipped: list[Skipped] = []
    files = [_entries(session_id, path / name, skipped) for name in (ACTIONS, RESPONSES)]
    return SessionFolder(
        session_id,
        _merged(*files),
        None if state is None else state_document(state),
        _document(path / METADATA, dict),
        _document(path / INITIAL, object),
        _document(path / FINAL, object),
        skipped,
        None if state is None else state_version(state),
    )


def _merged(actions: Iterator[FolderEvent], responses: Iterator[FolderEvent]) -> Iterator[FolderEvent]:
    """Both files in one order: by seq where both lines have one, else by time; each file keeps its own order."""
    action, response = next(actions, None), next(responses, None)
    while action is not None or response is not None:
        if response is None or (action is not None and not _before(response, action)):
            assert action is not None
            yield action
            action = next(actions, None)
        else:
            yield response
            response = next(responses, None)


def _before(one: FolderEvent, other: FolderEvent) -> bool:
    if one.seq is not None and other.seq is not None:
        return one.seq < other.seq
    if one.event.created_at is not None and other.event.created_at is not None:
        return one.event.created_at < other.event.created_at
    return False


def _entries(session_id: str, path: Path, skipped: list[Skipped]) -> Iterator[FolderEvent]:
    file = _open(path)
    if file is None:
        return
    try:
        lines = Lines(path.name, _chunks(file, path.name), DEFAULT.line_bytes, keep_rest=True)
        for line in lines:
            try:
                entry = decode_entry(session_id, path.name, lines.number, line)
            except InvalidInput as error:
                if lines.unended and isinstance(error, InvalidJson):
                    skipped.append(Skipped(path.name, lines.number, "torn: the file ends in the middle of this line"))
                    return
                raise refuse_line(error, path.name, lines.number) from None
            yield entry
    finally:
        os.close(file)


def _document(path: Path, kind: type) -> Any:
    """The JSON document in a file; None if there is no file."""
    file = _open(path)
    if file is None:
        return None
    try:
        if os.fstat(file).st_size > MAX_DOCUMENT:
            raise refuse("too_large", f"of more than {MAX_DOCUMENT} bytes", path.name)
        value = strict_json.parse(b"".join(_chunks(file, path.name)))
    except InvalidJson as error:
        raise refuse_line(error, path.name) from None
    finally:
        os.close(file)
    if not isinstance(value, kind):
        raise refuse("line", "is not a JSON object", path.name)
    return value


def _open(path: Path) -> int | None:
    """A regular file of the folder, or None if it is not there; never through a link."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refuse("unreadable", f"cannot be opened, or is a link: {error.strerror}", path.name) from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise refuse("not_a_file", "is not a regular file", path.name)
    return file


def _chunks(file: int, name: str) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(file, CHUNK)
        except OSError as error:
            raise refuse("unreadable", f"cannot be read: {error.strerror}", name) from None
        if not chunk:
            return
        yield chunk
