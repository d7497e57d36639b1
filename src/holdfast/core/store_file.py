"""A store in a file: where its URL says that it is, and the lock that keeps it to one server.

The lock is a file beside the store's, locked for as long as the server lives. The kernel lets go of it when the process
ends, however it ends. The store knows its server as well (`store/sqlite/owner.py`): this is the quick look, and where
others find the server. What is written in it, pid and URL, tells others where the server is; it is empty when there is
none. Only the store's owner can read it, so a server can leave a token for the owner's own commands there, which goes
into no message. Whoever only looks for the server need not import the store.
"""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import unquote

from holdfast.core import strict_json
from holdfast.core.errors import InvalidInput, InvalidJson, StoreInUse, StoreUnavailable

HINT = "sqlite:///relative/path.db, sqlite:////absolute/path.db or postgresql://user@host/database"


def sqlite_path(url: str) -> Path | None:
    """The file behind a SQLite URL; None if the URL is another engine's, InvalidInput if SQLite has no such names."""
    if not url.startswith("sqlite:///") or len(url) == len("sqlite:///") or "?" in url:
        return None
    name = unquote(url.removeprefix("sqlite:///"), errors="surrogateescape")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name!r:.200} is not a name in UTF-8", hint="rename the file or the folder") from None
    if "\0" in name:
        raise InvalidInput(f"{name!r:.200} is not the name of a file", hint=HINT)
    return Path(name)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a server says when it takes a store: where it answers, if anywhere, and the lock file that it holds."""

    url: str | None
    lock: Path
    inode: int


class StoreLock:
    """The lock at a path, held from entering to leaving."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = -1

    def __enter__(self) -> "StoreLock":
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            while not self._locked():
                os.close(self._file)  # it was removed between our opening and our locking it
        except OSError as error:
            raise StoreUnavailable(
                f"cannot use {self.path}: {error.strerror}", hint="name a folder that can be written"
            ) from error
        os.ftruncate(self._file, 0)
        return self

    def _locked(self) -> bool:
        """Lock the file; False if it is no longer the one at the path."""
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        os.fchmod(self._file, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise in_use(self.path) from None
        try:
            return os.path.samestat(os.fstat(self._file), self.path.stat())
        except FileNotFoundError:
            return False

    def claim(self, url: str | None = None) -> Claim:
        """What its holder says to the store."""
        return Claim(url, self.path, os.fstat(self._file).st_ino)

    def say(self, holder: dict[str, Any]) -> None:
        """Tell others who holds the lock."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, strict_json.dump(holder) + b"\n", 0)

    def forget(self) -> None:
        """In a process that was forked: close it here and leave it to the parent, who still holds it."""
        os.close(self._file)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.ftruncate(self._file, 0)
        os.close(self._file)


def unheld(path: Path) -> Claim:
    """What one who only reads says to the store; StoreInUse if its lock is held. Nothing is made or changed."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return Claim(None, path, 0)  # nobody holds what is not there; one who may not look finds out from the store
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return Claim(None, path, os.fstat(file).st_ino)
    except BlockingIOError:
        raise in_use(path) from None
    finally:
        os.close(file)


def lock_path(store: Path) -> Path:
    """Where the lock of a store's file is: beside it, so that two data folders cannot share the store."""
    return Path(os.path.realpath(store)).with_suffix(".lock")  # which, unlike resolve, never fails


def holder_of(path: Path) -> dict[str, Any]:
    """What the holder says of itself; nothing if it has not said it yet."""
    try:
        found = strict_json.parse(path.read_bytes())
    except (OSError, InvalidJson):
        return {}
    return found if isinstance(found, dict) else {}


def in_use(path: Path) -> StoreInUse:
    """The refusal that names the holder, by what it wrote into the file."""
    return held_by(path, {name: value for name, value in holder_of(path).items() if name != "token"})


def held_by(path: Path, holder: dict[str, Any]) -> StoreInUse:
    """The refusal that names this holder."""
    if not holder:
        return StoreInUse(f"another server that is just starting holds {path}", lock=str(path))
    if "url" not in holder:
        said = f"another command (pid {holder.get('pid')}) is at work on {path}"
        return StoreInUse(said, hint="try again when it is done", **holder)
    return StoreInUse(
        f"the server at {holder.get('url')} (pid {holder.get('pid')}) holds {path}", lock=str(path), **holder
    )
