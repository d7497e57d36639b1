"""What a store leaves on the disk, and what it does not."""

from pathlib import Path

import pytest
from tests.support.disks import sqlite_store
from tests.support.material import numbered, values
from tests.support.opening import store_with

from holdfast.core.errors import StoreUnavailable
from holdfast.store import open_store
from holdfast.store.engine import Tx


def files(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


async def test_reading_a_closed_store_leaves_the_folder_as_it_was(sqlite_url: str) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    async with await open_store(sqlite_url) as store:
        await store.append("s", numbered(1))
    before = files(path)
    assert set(before) == {"holdfast.db", "holdfast.db.reserve"}
    async with await open_store(sqlite_url, read_only=True) as store:
        assert await values(store, "s") == [{"n": 1}]
        with pytest.raises(StoreUnavailable, match="readonly"):
            await store.sessions.workers.read(lambda tx: tx.run("DELETE FROM transcript_events"))
    assert files(path) == before


async def test_reading_beside_a_writer_leaves_its_log_alone(sqlite_url: str) -> None:
    """The writer does no chores, which write to the log as well."""
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    async with store_with(sqlite_url, ()) as writer:
        await writer.append("s", numbered(1))
        before = Path(f"{path}-wal").stat()
        async with await open_store(sqlite_url, read_only=True) as store:
            assert await values(store, "s") == [{"n": 1}]
        after = Path(f"{path}-wal").stat()
        assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)
        await writer.append("s", numbered(2))
        assert await values(writer, "s") == [{"n": 1}, {"n": 2}]


async def test_opening_a_store_that_is_up_to_date_writes_nothing(sqlite_url: str) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    async with await open_store(sqlite_url) as store:
        await store.append("s", numbered(1))
    before = files(path)
    async with sqlite_store(path):
        assert Path(f"{path}-wal").stat().st_size == 0
    assert files(path) == before


async def test_what_is_deleted_is_overwritten(sqlite_url: str) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    secret = "the-word-that-must-go" * 500
    async with sqlite_store(path) as store:
        write = store.sessions.workers.write
        await write(lambda tx: tx.run("CREATE TABLE kept (text TEXT) STRICT"), ())
        await write(lambda tx: tx.run("INSERT INTO kept (text) VALUES (?1)", secret), ())

        def erase(tx: Tx) -> None:
            tx.run("DELETE FROM kept")
            tx.leave_no_trace()

        await write(erase, ())
    assert [name for name, content in files(path).items() if b"the-word-that-must-go" in content] == []
