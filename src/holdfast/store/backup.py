"""Backup: the whole store at one moment, copied while it is in use, and checked before it is called a backup.

What a backup is depends on the engine: a SQLite file, or an archive of a PostgreSQL database's tables. Either is
written beside its place, read again, and only then put there. A restore never touches a store that is there, and
gives the new one an id of its own, so that cursors from before are refused and not misread.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.errors import Corrupt, InvalidInput, StoreUnavailable
from holdfast.store.portable.durable import sync_folder
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
    """Copy the store to a new file, online, and check the copy; nothing is left at `path` unless it is good."""
    tell = told or _silent
    beside = await asyncio.to_thread(_beside, path, "a backup never overwrites: name a new file")
    try:
        await asyncio.to_thread(store.engine.copy_to, beside, lambda done, of: tell("copying", done, of))
        sessions = await _check(store, beside, tell)
        return BackedUp(path, await asyncio.to_thread(_put_in_place, beside, path), sessions)
    finally:
        await asyncio.to_thread(beside.unlink, missing_ok=True)


async def restore(path: Path, url: str, *, told: Told | None = None) -> Store:
    """Make a store at `url` from a backup, and open it; InvalidInput if there is one already, Corrupt if it is bad."""
    tell = told or _silent
    target = sqlite_path(url)
    if target is None:
        await asyncio.to_thread(_restore_postgres, path, url, lambda done, of: tell("restoring", done, of))
        return await open_store(url)
    beside = await asyncio.to_thread(_beside, target, "restore beside it, or move it away first")
    try:
        await asyncio.to_thread(_restore_sqlite, path, beside, lambda done, of: tell("restoring", done, of))
        await _verify_all(beside, tell)
        await asyncio.to_thread(_put_in_place, beside, target)
    finally:
        await asyncio.to_thread(beside.unlink, missing_ok=True)
    return await open_store(url)


def _restore_sqlite(path: Path, target: Path, told: Callable[[int, int], None]) -> None:
    from holdfast.store.sqlite import backup

    if not path.is_file() or not backup.is_backup(path):
        raise InvalidInput(f"{path} is not a backup of a SQLite store")
    backup.restore(path, target, told)


def _restore_postgres(path: Path, url: str, told: Callable[[int, int], None]) -> None:
    from holdfast.store.postgres import backup

    if not path.is_file() or not backup.is_backup(path):
        raise InvalidInput(f"{path} is not a backup of a PostgreSQL store")
    backup.check(path, told)
    backup.restore(path, url, told)


def remove_unfinished(path: Path) -> None:
    """Remove what a backup to this path left beside it when it was cut off."""
    if path.parent.is_dir():
        for each in path.parent.iterdir():
            if each.name.startswith(f".{path.name}{PART}"):
                each.unlink(missing_ok=True)


def _beside(path: Path, hint: str) -> Path:
    """Where to write what is to stand at a path; InvalidInput if something stands there."""
    if path.exists():
        raise InvalidInput(f"{path} exists already", hint=hint)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}{PART}")
        beside.unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"cannot write to {path.parent}: {error.strerror}") from error
    return beside


def _put_in_place(beside: Path, path: Path) -> int:
    """Let the file stand at its path, durably; its size."""
    with beside.open("rb") as file:
        os.fsync(file.fileno())
    beside.rename(path)
    sync_folder(path.parent)
    return path.stat().st_size


async def _check(store: Store, path: Path, tell: Told) -> int:
    """How many sessions a copy has, if it is whole; Corrupt if not."""
    if store.engine.name != "sqlite":
        from holdfast.store.postgres import backup as postgres

        found = await asyncio.to_thread(postgres.check, path, lambda done, of: tell("checking", done, of))
        return found.get("sessions", 0)
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
