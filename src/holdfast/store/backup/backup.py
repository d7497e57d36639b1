"""Backup: the whole store at one moment, copied while it is in use, and checked before it is called a backup.

What a backup is depends on the engine: a SQLite file, or an archive of a PostgreSQL database's tables. Either is
written beside its place, by one at a time, read again, and only then put there. A session that is damaged in the store
is in the backup as it is, and named: by whoever made the backup, and inside it. The files of a folder that goes with a
SQLite store are in its backup too. A restore never touches a store that is there, or what one has left, and gives the
new one an id of its own, so that cursors from before are refused and not misread.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from holdfast.core import strict_json
from holdfast.core.errors import Conflict, Corrupt, InvalidInput, StoreUnavailable
from holdfast.core.store_file import sqlite_path
from holdfast.store.backup.folder_files import NamedFile, NewFolder, files_in
from holdfast.store.portable.durable import locked, sync_folder
from holdfast.store.store import Store, open_store

PART = ".part"

Told = Callable[[str, int, int], None]
"""Told what is going on, how much of it is done, and of how much."""


@dataclass(frozen=True, slots=True)
class DamagedSession:
    """A session that is in a backup as it was found, and is not what was written."""

    tenant: str
    session_id: str
    problem: str

    def __str__(self) -> str:
        return f"{self.tenant}/{self.session_id}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was checked."""

    path: Path
    size_bytes: int
    sessions: int
    damaged: tuple[DamagedSession, ...] = ()
    files: int = 0


async def back_up(store: Store, path: Path, *, folder: Path | None = None, told: Told | None = None) -> Backup:
    """Copy the store to a new file, online, and check the copy; nothing is left at `path` unless the copy is whole.

    Sessions that are damaged in the store are copied too, and named. The files in `folder` are as they are after the
    store was copied; with another store than SQLite nobody keeps any. Conflict if another backup to this file is being
    made.
    """
    tell = told or _silent
    beside = await asyncio.to_thread(_Beside, path, "a backup never overwrites: name a new file")
    try:
        await store.copy_to(beside.path, lambda done, of: tell("copying", done, of))
        sessions, damaged = await _check(store, beside.path, tell)
        if damaged:
            said = strict_json.dump([asdict(each) for each in damaged]).decode()
            await asyncio.to_thread(_format_of(beside.path).note, beside.path, said)
        files = 0
        if folder is not None and store.engine.name == "sqlite":
            files = await asyncio.to_thread(_keep_files, beside.path, folder, tell)
        return Backup(path, await asyncio.to_thread(beside.put_in_place), sessions, damaged, files)
    finally:
        await asyncio.to_thread(beside.close)


async def restore(path: Path, url: str, *, folder: Path | None = None, told: Told | None = None) -> Store:
    """Make a store at `url` from a backup, and open it; InvalidInput if there is one already, Corrupt if it is bad.

    What was damaged in the store when the backup was made is restored as it was: see `damaged_sessions`. With `folder`
    the backup's files, if it has some, are put there, where nothing may be.
    """
    tell = told or _silent
    target = sqlite_path(url)
    if target is None:
        await asyncio.to_thread(_restore_postgres, path, url, lambda done, of: tell("restoring", done, of))
        return await open_store(url)
    beside = await asyncio.to_thread(_Beside, target, "restore beside it, or move it away first")
    files: NewFolder | None = None
    try:
        await asyncio.to_thread(_restore_sqlite, path, beside.path, lambda done, of: tell("restoring", done, of))
        _, found = await _verify_copy(beside.path, tell)
        _refuse_unknown(found, await asyncio.to_thread(damaged_sessions, path))
        if folder is not None and await asyncio.to_thread(_has_files, path):
            files = await asyncio.to_thread(NewFolder, folder)
            await asyncio.to_thread(_put_files, path, files)
        await asyncio.to_thread(beside.put_in_place)
        if files is not None:
            await asyncio.to_thread(files.put_in_place)
    finally:
        await asyncio.to_thread(beside.close)
        if files is not None:
            await asyncio.to_thread(files.close)
    return await open_store(url)


def damaged_sessions(path: Path) -> tuple[DamagedSession, ...]:
    """The sessions of a backup that were damaged in the store when it was made."""
    found = _format_of(path).noted(path)
    return () if found is None else tuple(DamagedSession(**each) for each in strict_json.parse(found.encode()))


def _keep_files(path: Path, folder: Path, tell: Told) -> int:
    """Put the files of a folder into a backup of a SQLite store."""
    from holdfast.store.sqlite import backup

    def named() -> Iterator[NamedFile]:
        for done, each in enumerate(files_in(folder), 1):
            tell("copying files", done, 0)
            yield each

    return backup.keep_files(path, named())


def _has_files(path: Path) -> bool:
    from holdfast.store.sqlite import backup

    return next(backup.kept_files(path), None) is not None


def _put_files(path: Path, files: NewFolder) -> None:
    from holdfast.store.sqlite import backup

    files.fill(backup.kept_files(path))


class _Format(Protocol):
    """The module of an engine's backups, as far as it is used for either."""

    def note(self, path: Path, damage: str) -> None: ...

    def noted(self, path: Path) -> str | None: ...


def _format_of(path: Path) -> _Format:
    from holdfast.store.sqlite import backup as sqlite

    if sqlite.is_backup(path):
        return sqlite
    from holdfast.store.postgres import backup as postgres

    return postgres


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
        """Conflict if another is at it, InvalidInput if something stands at the path, or was left beside it."""
        from holdfast.store.sqlite.database_file import left_beside

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
        left = left_beside(target)
        if left:
            self.close()
            raise InvalidInput(
                f"{left[0]} is there, which is part of another database",
                hint="move it to where that database is now: it may have what was acknowledged last",
            )

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


async def _check(store: Store, path: Path, tell: Told) -> tuple[int, tuple[DamagedSession, ...]]:
    """How many sessions a copy has, and which are damaged; Corrupt if the copy is not whole.

    The tables of a PostgreSQL store cannot be read in their archive: its sessions are verified where they are.
    """
    if store.engine.name == "sqlite":
        return await _verify_copy(path, tell)
    from holdfast.store.postgres import backup as postgres

    sessions = await asyncio.to_thread(postgres.check, path, lambda done, of: tell("checking", done, of))
    return sessions, (await _verify_sessions(store, tell))[1]


async def _verify_copy(path: Path, tell: Told) -> tuple[int, tuple[DamagedSession, ...]]:
    """How many sessions there are in a file that is no store yet, and which are damaged; Corrupt if the file is."""
    async with await open_store(f"sqlite:///{path}", read_only=True) as copy:
        problems = await asyncio.to_thread(copy.verification.engine.check)
        if problems:
            raise Corrupt(f"the store, or its copy, is damaged: {problems[0]}")
        return await _verify_sessions(copy, tell)


async def _verify_sessions(store: Store, tell: Told) -> tuple[int, tuple[DamagedSession, ...]]:
    """Verify every session of every tenant; how many there are, and which are damaged."""
    count = 0
    damaged = {(stray.tenant, stray.session_id): stray.problem for stray in await store.verification.strays()}
    for tenant in await store.verification.tenants():
        async for found in store.for_tenant(tenant).verification.every():
            count += 1
            tell("checking", count, 0)
            if found.problem is not None:
                damaged[tenant, found.session_id] = found.problem
    return count, tuple(DamagedSession(*names, problem) for names, problem in sorted(damaged.items()))


def _refuse_unknown(found: Iterable[DamagedSession], known: Iterable[DamagedSession]) -> None:
    """Corrupt if a session is damaged that was not when the backup was made."""
    names = {(each.tenant, each.session_id) for each in known}
    for each in found:
        if (each.tenant, each.session_id) not in names:
            raise Corrupt(f"the backup is damaged: session {each}", session_id=each.session_id)


def _silent(what: str, done: int, of: int) -> None:
    pass
