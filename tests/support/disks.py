"""Small disks, stores with small limits on them, and processes that hold a store's file."""

import asyncio
import contextlib
import os
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.support.processes import CONTEXT, spawn

from holdfast.core import SystemClock, TimeOrderedIds
from holdfast.core.errors import StorageFull
from holdfast.store import NewEvent, Store
from holdfast.store.engine import Tx
from holdfast.store.lanes.chores import Chore
from holdfast.store.machinery import Machinery
from holdfast.store.sqlite import SqliteEngine
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

RESERVE = 512 * 1024


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk of a few megabytes, or a loud skip where none can be mounted."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("NOT RUN: the full-disk tests need the right to mount a small tmpfs (root)")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@contextlib.asynccontextmanager
async def sqlite_store(
    path: Path, chores: Sequence[Chore] = (), tuning: StoreTuning = DEFAULT_TUNING, **limits: Any
) -> AsyncIterator[Store]:
    """A store with limits of its own."""
    clock = SystemClock()
    machinery = await asyncio.to_thread(
        lambda: Machinery(
            SqliteEngine(path, clock, tuning=tuning, **limits), read_only=False, chores=chores, tuning=tuning
        )
    )
    store = Store(machinery, "default", clock, TimeOrderedIds(clock))
    try:
        yield store
    finally:
        await store.close()


class Ballast:
    """Rows that can go: a table of its own, so that a test needs no deletion of sessions."""

    def __init__(self, store: Store) -> None:
        self._write = store.sessions.workers.write

    async def make(self) -> None:
        await self._write(lambda tx: tx.run("CREATE TABLE IF NOT EXISTS ballast (bytes BLOB) STRICT"), ())

    async def put(self, size: int = 20_000) -> None:
        await self._write(lambda tx: tx.run("INSERT INTO ballast (bytes) VALUES (zeroblob(?1))", size), ())

    async def drop(self, rows: int, *, makes_room: bool = True) -> None:
        await self._write(lambda tx: drop_ballast(tx, rows), (), makes_room=makes_room)


def drop_ballast(tx: Tx, rows: int) -> bool:
    """Delete so many rows; True if there may be more."""
    if not tx.one("SELECT count(*) FROM ballast") or tx.one("SELECT count(*) FROM ballast") == (0,):
        return False
    tx.run("DELETE FROM ballast WHERE rowid IN (SELECT rowid FROM ballast LIMIT ?1)", rows)
    return True


def fill(path: Path, leave: int) -> None:
    """Fill the disk with a file, but for `leave` bytes."""
    free = os.statvfs(path.parent)
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - leave)


@contextlib.contextmanager
def reader_elsewhere(path: Path) -> Iterator[Any]:
    """Another process that reads the file and does not finish."""
    ready = CONTEXT.Event()
    process = spawn(_read_and_stay, str(path), ready)
    assert ready.wait(30)
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _read_and_stay(path: str, ready: Any) -> None:
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM transcript_events").fetchall()
    ready.set()
    while True:
        time.sleep(3600)


def write_until_full(path: str, journal: str) -> None:
    """Append, noting each acknowledgement, until the disk is full; say so, and stay."""
    note = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def run() -> None:
        async with sqlite_store(Path(path), reserve_bytes=RESERVE) as store:
            await Ballast(store).make()
            count = 0
            while True:
                count += 1
                key = f"k{count}"
                os.write(note, f"try {key}\n".encode())
                try:
                    done = await store.append("s", [NewEvent("t", "x" * 2_000, idempotency_key=key)])
                    os.write(note, f"ack {key} {done.first_seq}\n".encode())
                    await Ballast(store).put()
                except StorageFull:
                    os.write(note, b"open\n")
                    await asyncio.Event().wait()

    asyncio.run(run())
