"""Backup: the whole store at one moment, copied while it is in use, and checked before it is called a backup.

What a backup is depends on the engine: a SQLite file, or an archive of a PostgreSQL database's tables. Either is
written beside its place, by one at a time, read again, and only then put there. A restore never touches a store that
is there, and gives the new one an id of its own, so that cursors from before are refused and not misread.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.errors import Conflict, Corrupt, InvalidInput, StoreUnavailable
from holdfast.store.portable.durable import locked, sync_folder
from holdfast.store.store import Store, open_store
from holdfast.store.urls import sqlite_path
from holdfast.store.verify import Verified

PART = ".part"

Told = Callable[[str, int, int], None]
"""Told what is going on, how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A backup that was checked."""

    path: Path
    size_bytes: int
    sessions: int


async def back_up(store: Store, path: Path, *, told: Told | None = None) -> BackedUp:
    """Copy the store to a new file, online, and check the copy; nothing is left at `path` unless it is good.

    Conflict if another backup to this file is being made.
    """
    tell = told or _silent
    beside = await asyncio.to_thread(_Beside, path, "a backup never overwrites: name a new file")
    try:
        await asyncio.to_thread(store.engine.copy_to, beside.path, lambda done, of: tell("copying", done, of))
        sessions = await _check(store, beside.path, tell)
        return BackedUp(path, await asyncio.to_thread(beside.put_in_place), sessions)
    finally:
        await asyncio.to_thread(beside.close)


async def restore(path: Path, url: str, *, told: Told | None = None) -> Store:
    """Make a store at `url` from a backup, and open it; InvalidInput if there is one already, Corrupt if it is bad."""
    tell = told or _silent
    target = sqlite_path(url)
    if target is None:
        await asyncio.to_thread(_restore_postgres, path, url, lambda done, of: tell("restoring", done, of))
        return await open_store(url)
    beside = await asyncio.to_thread(_Beside, target, "restore beside it, or move it away first")
    try:
        await asyncio.to_thread(_restore_sqlite, path, beside.path, lambda done, of: tell("restoring", done, of))
        await _verify_all(beside.path, tell)
        await asyncio.to_thread(beside.put_in_place)
    finally:
        await asyncio.to_thread(beside.close)
    return await open_store(url)


def _restore_sqlite(path: Path, target: Path, told: Callable[[int, int], None]) -> None:
    from holdfast.store.sqlite import backup

    _check_kind(path, backup.is_backup, "SQLite")
    backup.restore(path, target, told)


def _restore_postgres(path: Path, url: str, told: Callable[[int, int], None]) -> None:
    from holdfast.store.postgres import backup

    _check_kind(path, backup.is_backup, "PostgreSQL")
    backup.check(path, told)
    backup.restore(path, url, told)


def _check_kind(path: Path, is_backup: Callable[[Path], bool], engine: str) -> None:
    """InvalidInput if the file is something else, or cannot be read."""
    try:
        good = path.is_file() and is_backup(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    if not good:
        raise InvalidInput(
            f"{path} is not a backup of a {engine} store",
            hint="name a file that `holdfast db backup` made of such a store",
        )


def remove_unfinished(path: Path) -> None:
    """Remove what a backup to this path left beside it when it was cut off, unless one is being made."""
    if path.parent.is_dir() and _unfinished(path):
        with contextlib.suppress(Conflict):
            file = locked(_name_beside(path))
            try:
                drop_unfinished(path)
            finally:
                os.close(file)


def drop_unfinished(path: Path) -> None:
    """The same for the process that is making it."""
    for each in _unfinished(path):
        each.unlink(missing_ok=True)


class _Beside:
    """The file in which what is to stand at a path is written, by one at a time."""

    def __init__(self, target: Path, hint: str) -> None:
        """Conflict if another is at it, InvalidInput if something stands at the path."""
        self._target = target
        self.path = _name_beside(target)
        self._made = not target.parent.exists()
        if not target.parent.parent.is_dir():
            raise InvalidInput(
                f"there is no folder {target.parent.parent}", hint="make it first: only the file's own folder is made"
            )
        try:
            target.parent.mkdir(exist_ok=True)
            self._file = os.fdopen(locked(self.path), "wb")
            for each in _unfinished(target):
                if each != self.path:
                    each.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"cannot write to {target.parent}: {error.strerror}") from error
        if target.exists():
            self.close()
            raise InvalidInput(f"{target} exists already", hint=hint)

    def put_in_place(self) -> int:
        """Let the file stand at its path, durably; its size."""
        try:
            os.fsync(self._file.fileno())
            size = self.path.stat().st_size
            self.path.rename(self._target)
            self._made = False
            sync_folder(self._target.parent)
        except OSError as error:
            raise StoreUnavailable(f"cannot write {self._target}: {error.strerror}") from error
        return size

    def close(self) -> None:
        """Remove the file, unless it was put in its place, and let others write; and the folder that we made for it."""
        for each in _unfinished(self._target):
            each.unlink(missing_ok=True)
        self._file.close()
        if self._made:
            with contextlib.suppress(OSError):
                self._target.parent.rmdir()


def _name_beside(path: Path) -> Path:
    return path.with_name(f".{path.name}{PART}")


def _unfinished(path: Path) -> list[Path]:
    """The file beside a path that is being written, and what SQLite keeps beside that: those that are there."""
    beside = _name_beside(path)
    found = (beside.with_name(beside.name + suffix) for suffix in ("", "-journal", "-wal", "-shm"))
    return [each for each in found if each.exists()]


async def _check(store: Store, path: Path, tell: Told) -> int:
    """How many sessions a copy has, if it is whole; Corrupt if not."""
    if store.engine.name != "sqlite":
        from holdfast.store.postgres import backup as postgres

        return await asyncio.to_thread(postgres.check, path, lambda done, of: tell("checking", done, of))
    return await _verify_all(path, tell)


async def _verify_all(path: Path, tell: Told) -> int:
    """Verify every session of every tenant in a file that is no store yet; how many there are."""
    count = 0
    async with await open_store(f"sqlite:///{path}", read_only=True) as copy:
        problems = await copy.verification.files()
        if problems:
            raise Corrupt(f"the store, or its copy, is damaged: {problems[0]}")
        for tenant in await copy.verification.tenants():
            verification = copy.for_tenant(tenant).verification
            page = await verification.sessions()
            while page:
                for session_id in page:
                    _refuse_bad(await verification.session(session_id))
                    count += 1
                    tell("checking", count, 0)
                page = await verification.sessions(after=page[-1])
    return count


def _refuse_bad(found: Verified) -> None:
    if found.problem is not None:
        raise Corrupt(f"session {found.session_id!r} is damaged: {found.problem}", session_id=found.session_id)


def _silent(what: str, done: int, of: int) -> None:
    pass
