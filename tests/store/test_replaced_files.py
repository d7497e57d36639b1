"""The database's file is replaced, moved or removed under an open store: it acknowledges nothing more.

What is written after that lands in a file that nobody will open again by the store's name.
"""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.material import numbered, values

from holdfast.core.errors import EngineRefused, OutcomeUnknown, StoreFailed
from holdfast.core.store_file import StoreLock, lock_path
from holdfast.store import Store, StoreTuning, open_store


@pytest.fixture
def path(sqlite_url: str) -> Path:
    return Path(sqlite_url.removeprefix("sqlite:///"))


def move(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def exchange(path: Path) -> None:
    move(path)
    shutil.copy(path.with_name("moved.db"), path)


def exchange_in_one_step(path: Path) -> None:
    shutil.copy(path, path.with_name("other.db"))
    path.with_name("other.db").rename(path)


async def refused(store: Store) -> None:
    with pytest.raises((StoreFailed, OutcomeUnknown)) as refusal:
        await store.append("s", numbered(2))
    assert "database file" in refusal.value.message
    with pytest.raises(StoreFailed):
        await store.append("s", numbered(3))
    assert isinstance(store.failure, StoreFailed)


@pytest.mark.parametrize("change", [move, exchange, exchange_in_one_step, Path.unlink])
async def test_a_replaced_database_stops_the_acknowledgements(
    sqlite_url: str, path: Path, change: Callable[[Path], None]
) -> None:
    async with await open_store(sqlite_url) as store:
        await store.append("s", numbered(1))
        change(path)
        await refused(store)


async def test_a_replaced_database_is_noticed_before_the_first_write(sqlite_url: str, path: Path) -> None:
    async with await open_store(sqlite_url) as store:
        await store.append("s", numbered(1))
    async with await open_store(sqlite_url) as store:
        exchange(path)
        await refused(store)


async def test_a_server_at_rest_notices_it_by_itself(sqlite_url: str, path: Path) -> None:
    tuning = StoreTuning(beat_seconds=0.05, look_seconds=0.05)
    with StoreLock(lock_path(path)) as lock:
        async with await open_store(sqlite_url, claim=lock.claim(), tuning=tuning) as store:
            await store.append("s", numbered(1))
            exchange(path)
            async with asyncio.timeout(30):
                while store.failure is None:
                    await asyncio.sleep(0.02)


async def test_a_symbolic_link_that_leads_elsewhere_stops_them_too(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    link = tmp_path / "holdfast.db"
    for name in ("second", "first"):
        link.unlink(missing_ok=True)
        (tmp_path / name / "holdfast.db").touch()
        link.symlink_to(tmp_path / name / "holdfast.db")
        async with await open_store(f"sqlite:///{link}") as store:
            await store.append("s", numbered(1))
    async with await open_store(f"sqlite:///{link}") as store:
        await store.append("s", numbered(2))
        link.unlink()
        link.symlink_to(tmp_path / "second" / "holdfast.db")
        await refused(store)


async def test_a_log_that_is_replaced_behind_a_symbolic_link_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "holdfast.db", tmp_path / "holdfast.db"
    real.touch()
    link.symlink_to(real)
    async with await open_store(f"sqlite:///{link}") as store:
        await store.append("s", numbered(1))
        Path(f"{real}-wal").unlink()
        with pytest.raises((StoreFailed, OutcomeUnknown), match="write-ahead log"):
            await store.append("s", numbered(2))


async def test_one_that_ends_leaves_the_log_of_its_successor_alone(sqlite_url: str, path: Path) -> None:
    """SQLite removes a log by its name when the last connection is closed."""
    first = await open_store(sqlite_url)
    await first.append("s", numbered(1))
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").rename(path.with_name(f"moved.db{suffix}"))
    second = await open_store(sqlite_url)
    try:
        await second.append("s", numbered(7))
        await first.close()
        assert Path(f"{path}-wal").stat().st_size
        await second.append("s", numbered(8))
        assert await values(second, "s") == [{"n": 7}, {"n": 8}]
    finally:
        await second.close()
    async with await open_store(f"sqlite:///{path.with_name('moved.db')}") as moved:
        assert await values(moved, "s") == [{"n": 1}]


async def test_nothing_is_read_from_a_file_that_came_later(sqlite_url: str, path: Path, tmp_path: Path) -> None:
    other = f"sqlite:///{path.with_name('other.db')}"
    async with await open_store(other) as store:
        await store.append("theirs", numbered(9))
    async with await open_store(sqlite_url) as store:
        await store.append("s", numbered(1))
        path.with_name("other.db").rename(path)
        with pytest.raises(StoreFailed, match="database file"):
            store.engine.figures()
        with pytest.raises(StoreFailed, match="database file"):
            store._machinery.engine.copy_to(tmp_path / "backup", lambda _done, _of: None)
        assert not (tmp_path / "backup").exists()


async def test_a_log_without_its_database_is_never_taken_for_a_new_store(sqlite_url: str, path: Path) -> None:
    """It may have the newest of what was acknowledged, and SQLite removes it beside an empty file."""
    store = await open_store(sqlite_url)
    await store.append("s", numbered(1))
    logs = {each.name: each.read_bytes() for each in path.parent.glob("*-wal")}
    await store.close()
    path.unlink()
    for name, content in logs.items():
        path.with_name(name).write_bytes(content)
    for empty in (False, True):
        if empty:
            path.touch()
        with pytest.raises(EngineRefused, match=r"holdfast\.db-wal"):
            await open_store(sqlite_url)
        assert {each.name: each.read_bytes() for each in path.parent.glob("*-wal")} == logs
