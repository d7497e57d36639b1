"""What deletions leave free in a SQLite file goes back to the disk by itself, in steps that keep nobody waiting."""

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from holdfast.cli import main
from holdfast.core.store_file import StoreLock, lock_path
from holdfast.store import NewEvent, Store, StoreTuning, open_store
from holdfast.store.sqlite import space
from holdfast.store.sqlite.log import PAGE

PATIENCE = 30.0
KEEP = 20
ROOT = Path(__file__).parents[2]


FEW = StoreTuning(free_pages=KEEP)
"""A few pages stay in the file, not thousands."""


@asynccontextmanager
async def opened(path: Path, tuning: StoreTuning = FEW) -> AsyncIterator[Store]:
    async with await open_store(f"sqlite:///{path}", tuning=tuning) as store:
        yield store


async def purge_much(store: Store) -> None:
    """Write four megabytes between two sessions that stay, and purge them."""
    await store.append("first", [NewEvent("n", {"n": 1})])
    for number in range(4):
        await store.append(f"big{number}", [NewEvent("n", "x" * 100_000) for _ in range(10)])
    await store.append("last", [NewEvent("n", {"n": 2})])
    for number in range(4):
        await store.deletion.delete(f"big{number}")
        await store.archives.purge(f"big{number}")


async def until_at_most(path: Path, size: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while path.stat().st_size > size:
            await asyncio.sleep(0.02)


async def test_the_file_shrinks_after_a_purge(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.db"
    async with opened(path) as store:
        await purge_much(store)
        await until_at_most(path, 1_000_000)
        assert store.engine.figures()["freeBytes"] <= (KEEP + space.TOGETHER) * PAGE
        assert await store.verification.files() == []
        for name in ("first", "last"):
            assert (await store.verification.session(name)).problem is None
        await store.append("first", [NewEvent("n", "y" * 100_000)])
    async with opened(path) as store:
        assert len(await store.read("first")) == 2


async def test_a_step_is_small_and_what_is_free_is_told(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.db"
    async with opened(path, StoreTuning(free_pages=2**31)) as store:
        await purge_much(store)
        workers = store.sessions.workers
        before = store.engine.figures()["freeBytes"]
        assert before > 3_000_000
        slow = StoreTuning(free_pages=KEEP, give_back_seconds=60)
        assert await workers.write(lambda tx: space.give_back(tx, slow), ()) is True
        given = before - store.engine.figures()["freeBytes"]
        assert 0 < given <= (space.STEP_PAGES + space.TOGETHER) * PAGE


def make_old(path: Path) -> None:
    """A file as earlier versions began one: free pages can only be used again."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.close()


async def test_a_file_of_an_earlier_version_is_left_alone_until_it_is_shrunk(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.db"
    make_old(path)
    async with opened(path) as store:
        await purge_much(store)
        assert await store.sessions.workers.write(lambda tx: space.give_back(tx, FEW), ()) is False
        assert store.engine.figures()["freeBytes"] > 3_000_000
        store_id = store.store_id
    assert path.stat().st_size > 3_000_000
    done = await asyncio.to_thread(CliRunner().invoke, main, ["db", "shrink", "--data", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["sizeBefore"] > 3_000_000
    assert told["size"] == path.stat().st_size < 1_000_000
    async with opened(path) as store:
        assert store.store_id == store_id
        for name in ("first", "last"):
            assert (await store.verification.session(name)).problem is None
        await purge_again(store)
        await until_at_most(path, 1_000_000)


async def purge_again(store: Store, name: str = "more") -> None:
    """Write two megabytes, and purge them."""
    await store.append(name, [NewEvent("n", "x" * 100_000) for _ in range(20)])
    await store.deletion.delete(name)
    await store.archives.purge(name)


def test_what_cannot_be_shrunk_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    def refused(*options: str) -> str:
        done = CliRunner().invoke(main, ["db", "shrink", *options])
        assert (done.exit_code != 0, isinstance(done.exception, SystemExit)) == (True, True), done.output
        return done.output

    assert "only the file of a SQLite store" in refused("--store", "postgresql://localhost/none")
    assert "there is no store" in refused("--data", str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    notes = tmp_path / "notes.db"
    notes.write_text("not a database, and somebody else's" * 100)
    refused("--store", f"sqlite:///{notes}")
    assert notes.read_text() == "not a database, and somebody else's" * 100
    (tmp_path / "held.db").touch()
    with StoreLock(lock_path(tmp_path / "held.db")):
        refused("--store", f"sqlite:///{tmp_path / 'held.db'}")


CHILD = """
import asyncio, sys
from itertools import count
from pathlib import Path
from tests.store.test_space import KEEP, opened, purge_again
from holdfast.store import StoreTuning

async def main():
    async with opened(Path(sys.argv[1]), StoreTuning(free_pages=KEEP, give_back_seconds=0)) as store:
        for number in count():
            await purge_again(store, f"{sys.argv[2]}-{number}")
            print(number, flush=True)

asyncio.run(main())
"""


@pytest.mark.long
async def test_a_kill_while_space_is_given_back_harms_nothing(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.db"
    async with opened(path) as store:
        await store.append("first", [NewEvent("n", "x" * 50_000) for _ in range(20)])
    for cycle in range(10):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(path), str(cycle)], stdout=subprocess.PIPE, cwd=ROOT, text=True
        )
        assert child.stdout is not None
        child.stdout.readline()
        await asyncio.sleep(random.uniform(0, 0.3))
        child.kill()
        child.wait()
        child.stdout.close()
        async with opened(path) as store:
            assert await store.verification.files() == []
            assert (await store.verification.session("first")).problem is None
            assert len(await store.read("first")) == 20
