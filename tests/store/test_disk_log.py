"""A reader that does not finish cannot make the write-ahead log grow without end."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.disks import reader_elsewhere, sqlite_store
from tests.support.material import numbered, values

from holdfast.core.errors import LogFull, StoreUnavailable
from holdfast.store import NewEvent, Store, StoreTuning
from holdfast.store.engine import Tx
from holdfast.store.sqlite.log import PAGE, lock_holders

LIMIT = 100


async def write_until_refused(store: Store) -> LogFull:
    for _ in range(LIMIT * 2):
        try:
            await store.append("s", [NewEvent("t", "x" * 3000)])
        except LogFull as refusal:
            return refusal
    raise AssertionError("nothing was refused")


@pytest.mark.parametrize("stopped", [False, True], ids=["reading", "stopped"])
async def test_a_stuck_reader_elsewhere_bounds_the_log_and_is_named(tmp_path: Path, stopped: bool) -> None:
    path = tmp_path / "holdfast.db"
    wal = tmp_path / "holdfast.db-wal"
    async with sqlite_store(path, wal_limit_pages=LIMIT) as store:
        await store.append("s", numbered(0))
        with reader_elsewhere(path) as process:
            if stopped:
                os.kill(process.pid, signal.SIGSTOP)
            refusal = await write_until_refused(store)
            assert refusal.details["pids"] == [process.pid]
            assert f"process {process.pid}" in refusal.message
            assert refusal.details["retry_after"] >= 1
            size = wal.stat().st_size
            assert size < 2 * LIMIT * (PAGE + 24)
            head = len(await store.read("s"))
            for makes_room in (False, True):
                with pytest.raises(LogFull):
                    await store.sessions.workers.write(
                        lambda tx: tx.run("DELETE FROM tasks"), (), makes_room=makes_room
                    )
            assert len(await store.read("s")) == head, "reads go on"
            assert wal.stat().st_size == size, "the log grew though writes were refused"
        await store.append("s", numbered(1))  # by itself, with no restart
        assert wal.stat().st_size < size
        assert (await store.read("s"))[-1].seq == head + 1
        assert (await store.verification.session("s")).problem is None


async def test_without_a_stuck_reader_the_limit_is_never_met(tmp_path: Path) -> None:
    async with sqlite_store(tmp_path / "holdfast.db", wal_limit_pages=LIMIT) as store:

        async def read_on() -> None:
            while True:
                await store.read("s", limit=10)

        await store.append("s", numbered(0))
        reading = [asyncio.ensure_future(read_on()) for _ in range(4)]
        for _ in range(LIMIT * 2):
            await store.append("s", [NewEvent("t", "x" * 3000)])
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        assert len(await values(store, "s")) == LIMIT * 2 + 1


async def test_a_read_that_dawdles_between_statements_is_ended(tmp_path: Path) -> None:
    async with sqlite_store(tmp_path / "holdfast.db", tuning=StoreTuning(read_seconds=0.05)) as store:
        await store.append("s", numbered(1))

        def dawdle(tx: Tx) -> Any:
            first = tx.one("SELECT count(*) FROM transcript_events")
            began = time.monotonic()
            while time.monotonic() - began < 0.1:
                time.sleep(0.001)
            return first, tx.one("SELECT count(*) FROM transcript_events")

        with pytest.raises(StoreUnavailable):
            await store.sessions.workers.read(dawdle)
        assert await values(store, "s") == [{"n": 1}], "the reader goes on with the next read"


LOCKS = """\
1: POSIX  ADVISORY  READ  4001 fd:01:5151 124 124
2: POSIX  ADVISORY  READ  4002 fd:01:5151 128 128
3: POSIX  ADVISORY  READ  4003 fd:01:9999 124 124
4: FLOCK  ADVISORY  WRITE 4004 fd:01:5151 0 EOF
5: POSIX  ADVISORY  READ  4005 fd:01:5151 123 127
5: -> POSIX  ADVISORY  WRITE 4006 fd:01:5151 124 124
6: POSIX  ADVISORY  WRITE 4007 fd:01:5151 120 120
7: POSIX  ADVISORY  READ  4008 fd:01:5151 120 EOF
"""


def test_who_holds_a_readers_lock_is_told_by_the_kernel() -> None:
    """Only readers' locks of this file count: not those that say "connected", of other files, or who only waits."""
    assert lock_holders(LOCKS, "fd:01:5151") == {4001, 4005, 4008}
    assert lock_holders("", "fd:01:5151") == set()
