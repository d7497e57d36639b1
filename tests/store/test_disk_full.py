"""A full disk: ordinary writes are refused, reads and deletions go on, and nothing is lost."""

import asyncio
import itertools
import logging
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from tests.support.disks import RESERVE, Ballast, drop_ballast, fill, small_disk, sqlite_store, write_until_full
from tests.support.history import History, violations
from tests.support.material import numbered, values
from tests.support.processes import spawn
from tests.support.steps import Meanwhile, half_done, run

from holdfast.core.errors import SessionGone, StorageFull
from holdfast.gateway.app import create_app
from holdfast.store import NewEvent, Store, StoreTuning, open_store
from holdfast.store.engine import Tx
from holdfast.store.lanes.chores import makes_room
from holdfast.store.lifecycle import arrivals
from holdfast.store.store import chores_of

WATCHFUL = StoreTuning(look_seconds=0.05)
"""Soon sees what is left to do, and that there is room."""


async def fill_up(store: Store, prefix: str) -> list[str]:
    """Append and lay ballast until the disk is full; the texts that were acknowledged."""
    acked: list[str] = []
    ballast = Ballast(store)
    for number in itertools.count():
        text = f"{prefix}-{number}"
        try:
            await store.append("s", [NewEvent("t", text)])
            acked.append(text)
            await ballast.put()
        except StorageFull as refusal:
            assert refusal.hint
            return acked
    raise AssertionError


async def until_roomy(store: Store) -> None:
    async with asyncio.timeout(20):
        while store.engine.figures()["shortOfRoom"]:
            await asyncio.sleep(0.01)


async def test_deletions_make_room_and_writes_go_on_again_and_again(tmp_path: Path) -> None:
    """Three rounds on one full disk, with no restart: if a round used up what deletions need, the next would show."""
    with small_disk(tmp_path, 8) as disk:
        path = disk / "holdfast.db"
        async with sqlite_store(path, reserve_bytes=RESERVE) as store:
            ballast = Ballast(store)
            await ballast.make()
            acked: list[str] = []
            for turn in range(3):
                new = await fill_up(store, f"r{turn}")
                assert len(new) > 20
                acked += new
                with pytest.raises(StorageFull):
                    await store.append("s", numbered(1))
                with pytest.raises(StorageFull):
                    await ballast.drop(1, makes_room=False)
                assert store.engine.figures()["shortOfRoom"] is True
                assert await values(store, "s") == acked, "reads go on"
                for _ in range(20):
                    await ballast.drop(10)
                assert store.engine.figures()["shortOfRoom"] is False
            await store.append("s", [NewEvent("t", "after")])
            assert await values(store, "s") == [*acked, "after"]
            assert (await store.verification.session("s")).problem is None
            assert await asyncio.to_thread(store._machinery.engine.check) == []


async def test_when_there_is_room_on_the_disk_again_so_is_the_reserve(tmp_path: Path) -> None:
    with small_disk(tmp_path, 4) as disk:
        path, reserve = disk / "holdfast.db", disk / "holdfast.db.reserve"
        async with sqlite_store(path, reserve_bytes=RESERVE) as store:
            assert reserve.stat().st_blocks * 512 >= RESERVE
            assert reserve.stat().st_mode & 0o777 == 0o600
            await Ballast(store).make()
            acked = await fill_up(store, "a")
            assert not reserve.exists()
            subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
            await store.append("s", [NewEvent("t", "room")])
            assert reserve.stat().st_blocks * 512 >= RESERVE
            assert await values(store, "s") == [*acked, "room"]


async def test_an_idle_store_finds_the_new_room_by_itself(tmp_path: Path) -> None:
    with small_disk(tmp_path, 4) as disk:
        async with sqlite_store(disk / "holdfast.db", tuning=WATCHFUL, reserve_bytes=RESERVE) as store:
            await Ballast(store).make()
            await fill_up(store, "a")
            subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
            await until_roomy(store)


async def test_a_write_too_large_for_the_disk_does_not_keep_small_ones_out(tmp_path: Path) -> None:
    with small_disk(tmp_path, 8) as disk:
        async with sqlite_store(disk / "holdfast.db", reserve_bytes=RESERVE) as store:
            ballast = Ballast(store)
            await ballast.make()
            with pytest.raises(StorageFull):
                await ballast.put(20_000_000)
            for number in range(20):
                await store.append("s", numbered(number))
            assert len(await values(store, "s")) == 20


async def test_killed_while_short_of_room_it_opens_with_all_that_was_acknowledged(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    with small_disk(tmp_path / "disk", 6) as disk:
        path, journal = disk / "holdfast.db", tmp_path / "journal"
        child = spawn(write_until_full, str(path), str(journal))
        deadline = time.monotonic() + 60
        while not (journal.exists() and b"open" in journal.read_bytes()):
            assert child.is_alive()
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
        child.kill()
        child.join()
        history = History()
        history.read_journal(journal)
        assert len(history.acked) > 20
        async with sqlite_store(path, reserve_bytes=RESERVE) as store:
            assert violations(history, await store.read("s")) == []
            assert (await store.verification.session("s")).problem is None
            for _ in range(20):
                await Ballast(store).drop(10)
            await store.append("s", [NewEvent("t", "after")])
        async with sqlite_store(path, reserve_bytes=RESERVE) as store:
            assert (await values(store, "s"))[-1] == "after"


@pytest.mark.parametrize("leave", [300_000, 0], ids=["nearly", "completely"])
async def test_a_store_on_a_full_disk_opens_for_reading_and_deletions(tmp_path: Path, leave: int) -> None:
    """It was closed with its reserve; then something else filled the disk."""
    with small_disk(tmp_path, 6) as disk:
        path, filler = disk / "holdfast.db", disk / "filler"
        async with sqlite_store(path, reserve_bytes=RESERVE) as store:
            ballast = Ballast(store)
            await ballast.make()
            for _ in range(50):
                await ballast.put()
            await store.append("s", numbered(1))
        fill(filler, leave)
        async with sqlite_store(path, reserve_bytes=RESERVE) as store:
            assert await values(store, "s") == [{"n": 1}]
            acked = await fill_up(store, "more")
            await Ballast(store).drop(10)
            filler.unlink()
            await store.append("s", numbered(2))
            assert await values(store, "s") == [{"n": 1}, *acked, {"n": 2}]


async def test_a_nearly_full_disk_without_a_reserve_opens_short_of_room(tmp_path: Path) -> None:
    with small_disk(tmp_path, 6) as disk:
        path, filler = disk / "holdfast.db", disk / "filler"
        async with sqlite_store(path, reserve_bytes=RESERVE) as store:
            await store.append("s", numbered(1))
        (disk / "holdfast.db.reserve").unlink()
        fill(filler, RESERVE)
        async with sqlite_store(path, reserve_bytes=RESERVE) as store:
            assert store.engine.figures()["shortOfRoom"] is True
            with pytest.raises(StorageFull):
                await store.append("s", numbered(2))
            assert await values(store, "s") == [{"n": 1}]
            filler.unlink()
            await store.append("s", numbered(3))


async def test_chores_that_make_room_go_on_and_others_wait_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ready = threading.Event()
    opened: list[Store] = []
    short: list[bool] = []

    @makes_room
    def purge(tx: Tx) -> bool:
        return ready.is_set() and drop_ballast(tx, 10)

    def other(tx: Tx) -> bool:
        short.extend(store.engine.figures()["shortOfRoom"] for store in opened)
        return False

    with small_disk(tmp_path, 4) as disk, caplog.at_level(logging.WARNING, "holdfast.store"):
        async with sqlite_store(disk / "holdfast.db", [other, purge], WATCHFUL, reserve_bytes=RESERVE) as store:
            await Ballast(store).make()
            opened.append(store)
            await fill_up(store, "a")
            ready.set()
            await until_roomy(store)
            await store.append("s", numbered(1))
            while not short:
                await asyncio.sleep(0.01)
            assert not any(short), "a chore that needs room was let in while it was short"
    assert [record.message for record in caplog.records] == [
        "the store is short of room: only deletions go on",
        "the store has room again",
    ]


async def leave_half_done(store: Store) -> None:
    """A deletion, a purge and an import that their processes did not finish, and an attachment that nobody needs."""

    class Dead(Exception):
        pass

    async def die() -> None:
        raise Dead

    for name in ("leaving", "purging"):
        await store.append(name, numbered(*range(10)))
    with pytest.raises(Dead):
        await replace(store.deletion, workers=Meanwhile(store.deletion.workers, die, 1)).delete("leaving")
    await store.deletion.delete("purging")
    with pytest.raises(Dead):
        await replace(store.archives, workers=Meanwhile(store.archives.workers, die, 1)).purge("purging")
    await store.attachments.put(b"unused")
    await run(store, "UPDATE attachments SET touched_at = 0")
    await store.forks.workers.write(lambda tx: arrivals.begin(tx, "default", "arriving", "nobody", 0, 0), ())
    await store.declare_all_dead()


async def test_what_was_left_half_done_and_makes_room_is_finished_though_the_disk_is_full(tmp_path: Path) -> None:
    with small_disk(tmp_path, 4) as disk:
        path = disk / "holdfast.db"
        async with sqlite_store(path, reserve_bytes=RESERVE) as store:
            await Ballast(store).make()
            await leave_half_done(store)
            assert len(await half_done(store)) == 4
            acked = await fill_up(store, "a")
        async with sqlite_store(path, chores_of(WATCHFUL), WATCHFUL, reserve_bytes=RESERVE) as store:
            async with asyncio.timeout(30):
                while await half_done(store):
                    await asyncio.sleep(0.01)
            assert store.engine.figures()["shortOfRoom"] is True, "or the test proves nothing"
            assert await values(store, "s") == acked
            assert [event.seq async for event in store.archives.events("leaving")] == list(range(1, 11))


async def test_a_store_that_is_only_read_makes_no_reserve(sqlite_url: str) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    async with await open_store(sqlite_url) as store:
        await store.append("s", numbered(1))
    reserve = path.with_name(path.name + ".reserve")
    assert reserve.exists()
    reserve.unlink()
    async with await open_store(sqlite_url, read_only=True) as store:
        assert await values(store, "s") == [{"n": 1}]
    assert not reserve.exists()


async def test_sessions_are_deleted_and_purged_though_the_disk_is_full(tmp_path: Path) -> None:
    with small_disk(tmp_path, 8) as disk:
        async with sqlite_store(disk / "holdfast.db", reserve_bytes=RESERVE) as store:
            await Ballast(store).make()
            await store.append("gone", numbered(1))
            await fill_up(store, "s")
            assert (await store.deletion.delete("gone")).events == 1
            assert (await store.archives.purge("gone")).purged_at is not None
            assert store.engine.figures()["shortOfRoom"] is True, "or the test proves nothing"
            with pytest.raises(SessionGone):
                await store.read("gone")


async def test_a_deletion_whose_move_finds_no_room_has_deleted_and_says_so(tmp_path: Path) -> None:
    """The events are larger than what is held back for deletions: the session ends, its move is left for later."""
    with small_disk(tmp_path, 20) as disk:
        async with sqlite_store(disk / "holdfast.db", reserve_bytes=RESERVE) as store:
            await store.append("large", [NewEvent("t", "x" * 3_000_000)])
        fill(disk / "filler", 200_000)
        async with sqlite_store(disk / "holdfast.db", reserve_bytes=RESERVE) as store:
            client = httpx2.AsyncClient(transport=httpx2.ASGITransport(create_app(store)), base_url="http://localhost")
            async with client:
                gone = await client.delete("/api/sessions/large")
                assert (gone.status_code, gone.json()["events"]) == (200, 1)
                assert (await client.get("/api/sessions/large")).status_code == 410
            assert await half_done(store) == ["large"], "or the test proves nothing"
            (disk / "filler").unlink()
            await store.append("s", numbered(1))
        async with sqlite_store(disk / "holdfast.db", chores_of(WATCHFUL), reserve_bytes=RESERVE) as store:
            async with asyncio.timeout(30):
                while await half_done(store):
                    await asyncio.sleep(0.01)
            assert [event.seq async for event in store.archives.events("large")] == [1]
