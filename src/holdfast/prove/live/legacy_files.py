"""Legacy files as they lie there: `agents/<agent>/sessions/`, with sessions.json and a .jsonl for each session.

They are input or archive: a running gateway neither changes nor holds them, and makes none for a new session.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

SESSIONS = "sessions.json"
ENDING = ".jsonl"
OWN = frozenset({"conversations", "workspace", "logs"})
"""Folders of a data folder in which the gateway and its agent keep files by design."""
DELETED = " (deleted)"


@dataclass(frozen=True, slots=True)
class FileMark:
    """What a file was when it was looked at."""

    size: int
    modified: int
    inode: int


def legacy_folders(root: Path) -> list[Path]:
    """The folders with legacy sessions below a data folder."""
    return sorted(path for path in root.glob("agents/*/sessions") if path.is_dir())


def legacy_marks(root: Path) -> dict[str, FileMark]:
    """Every legacy file that is there, by its path."""
    return marks_of(path for folder in legacy_folders(root) for path in folder.rglob("*"))


def side_marks(data: Path, mirror: Path | None = None) -> dict[str, FileMark]:
    """Every .jsonl in a data folder but for those that the gateway keeps by design, and those below `mirror`: the
    folder in which a process beside it keeps sessions as files for others to read, if there is one."""
    walk = _walk(data, os.path.realpath(mirror) if mirror else None)
    return marks_of(Path(folder) / name for folder, names in walk for name in names if name.endswith(ENDING))


def marks_of(paths: Iterable[Path]) -> dict[str, FileMark]:
    """The marks of those that are files."""
    found = {}
    for path in paths:
        try:
            stat = path.stat()
        except OSError:
            continue
        if path.is_file():
            found[str(path)] = FileMark(stat.st_size, stat.st_mtime_ns, stat.st_ino)
    return found


def hashes(paths: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of files, by their paths; what stands against reading one, where it cannot be read."""
    found = {}
    for path in paths:
        try:
            with Path(path).open("rb") as file:
                found[str(path)] = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            found[str(path)] = f"unreadable: {error.strerror}"
    return found


def is_of(path: Path, names: tuple[str, ...]) -> bool:
    """Whether a file is about one of these: in its name, or in its text."""
    if any(_plain(name) in _plain(path.name) for name in names):
        return True
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return any(name.encode() in content for name in names)


def open_files(pid: int) -> set[str] | None:
    """The files that a process has open, as lsof would say; None if it cannot be looked at from here."""
    try:
        entries = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return None
    found = set()
    for entry in entries:
        try:
            found.add(str(entry.readlink()).removesuffix(DELETED))
        except OSError:
            continue
    return found


def legacy_handles(opened: set[str], root: Path) -> list[str]:
    """Those of the open files that are legacy ones."""
    folders = [os.path.realpath(folder) + os.sep for folder in legacy_folders(root)]
    return sorted(
        path
        for path in opened
        if Path(path).name == SESSIONS or (path.endswith(ENDING) and any(path.startswith(each) for each in folders))
    )


def _walk(data: Path, mirror: str | None) -> Iterator[tuple[str, list[str]]]:
    for folder, inner, names in os.walk(data):
        own = OWN if Path(folder) == data else ()
        inner[:] = [name for name in inner if name not in own and os.path.realpath(Path(folder) / name) != mirror]
        yield folder, names


def _plain(name: str) -> str:
    """The letters and digits of a name, which is all that two ways of writing it as a file's have in common."""
    return "".join(letter for letter in name if letter.isalnum()).lower()
