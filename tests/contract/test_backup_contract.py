"""Backups: taken while others write, checked, and put back under a new id."""

import asyncio
import contextlib
import struct
import zipfile
from pathlib import Path

import pytest
from tests.support.postgres import Server

from holdfast.core.errors import Corrupt, InvalidInput
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.backup import back_up, restore


def fresh_url(store: Store, tmp_path: Path, postgres: Server) -> str:
    """An empty place for another store on the same engine."""
    return f"sqlite:///{tmp_path}/restored/holdfast.db" if store.engine.name == "sqlite" else postgres.new_database()


async def test_a_backup_taken_while_others_write_is_one_moment_of_the_store(
    store: Store, tmp_path: Path, postgres: Server
) -> None:
    await store.for_tenant("other").append("theirs", [NewEvent("note", {"n": 1})])
    await store.memories.put("facts", "name", "Mira")
    await store.append("busy", [NewEvent("note", {"n": n}) for n in range(2_000)])
    before = (await store.sessions.get("busy")).head_seq

    async def write() -> None:
        while True:
            await store.append("busy", [NewEvent("note", {"text": "x" * 200})])

    writer = asyncio.create_task(write())
    done = await back_up(store, tmp_path / "backup")
    writer.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await writer
    after = (await store.sessions.get("busy")).head_seq
    assert done.sessions == 2
    assert done.size_bytes == (tmp_path / "backup").stat().st_size

    async with await restore(tmp_path / "backup", fresh_url(store, tmp_path, postgres)) as copy:
        head = (await copy.sessions.get("busy")).head_seq
        assert before <= head <= after
        assert (await copy.verification.session("busy")).problem is None
        assert await copy.verification.files() == []
        assert await copy.read("busy") == (await store.read("busy"))[:head]
        assert (await copy.memories.get("facts", "name")).value() == "Mira"
        assert len(await copy.for_tenant("other").read("theirs")) == 1
        # It goes on as a store of its own.
        appended = await copy.append("busy", [NewEvent("later", {"word": "zebra"})])
        assert appended.first_seq == head + 1
        assert [hit.seq for hit in (await copy.search.find("zebra")).hits] == [head + 1]
        assert (await copy.search.find("xxx*")).hits or head == before


async def test_a_restored_store_refuses_cursors_from_before_and_feeds_what_is_new(
    store: Store, tmp_path: Path, postgres: Server
) -> None:
    await store.append("s", [NewEvent("note", {})])
    cursor = await store.feed.now()
    await back_up(store, tmp_path / "backup")
    async with await restore(tmp_path / "backup", fresh_url(store, tmp_path, postgres)) as copy:
        assert copy.store_id != store.store_id
        with pytest.raises(InvalidInput, match="another store"):
            await anext(aiter(copy.feed.everything(cursor)))
        start = await copy.feed.now()
        await copy.append("s", [NewEvent("news", {})])
        envelope = await asyncio.wait_for(anext(aiter(copy.feed.everything(start))), 30)
        assert envelope.event.type == "news"


async def test_nothing_that_is_there_is_overwritten(store: Store, tmp_path: Path, store_url: str) -> None:
    await store.append("s", [NewEvent("note", {})])
    path = tmp_path / "backup"
    await back_up(store, path)
    kept = path.read_bytes()
    with pytest.raises(InvalidInput, match="exists"):
        await back_up(store, path)
    with pytest.raises(InvalidInput):
        await restore(path, store_url)
    assert path.read_bytes() == kept
    assert len(await store.read("s")) == 1


def middle_of_the_events(path: Path) -> int:
    """Where a PostgreSQL store's events are in its backup: not in a name or a date beside them."""
    with zipfile.ZipFile(path) as archive:
        member = archive.getinfo("transcript_events.copy")
    name, extra = struct.unpack_from("<HH", path.read_bytes(), member.header_offset + 26)
    return int(member.header_offset + 30 + name + extra + member.compress_size // 2)


async def test_a_damaged_backup_is_not_restored(store: Store, tmp_path: Path, postgres: Server) -> None:
    await store.append("s", [NewEvent("note", {"text": "y" * 3_000}) for _ in range(50)])
    path = tmp_path / "backup"
    await back_up(store, path)
    damaged = bytearray(path.read_bytes())
    place = damaged.find(b"y" * 100) if store.engine.name == "sqlite" else middle_of_the_events(path)
    damaged[place] ^= 0x01
    path.write_bytes(damaged)
    with pytest.raises(Corrupt):
        await restore(path, fresh_url(store, tmp_path, postgres))
    assert not list(tmp_path.glob("restored/*"))


async def test_what_is_no_backup_is_not_restored(store: Store, tmp_path: Path, postgres: Server) -> None:
    (tmp_path / "text").write_text("not a backup")
    for path in (tmp_path / "text", tmp_path / "nothing", tmp_path):
        with pytest.raises(InvalidInput, match="not a backup"):
            await restore(path, fresh_url(store, tmp_path, postgres))


async def test_a_damaged_store_gives_no_backup(sqlite_url: str, tmp_path: Path) -> None:
    import apsw

    async with await open_store(sqlite_url) as store:
        await store.append("s", [NewEvent("note", {"n": n}) for n in range(3)])
        connection = apsw.Connection(sqlite_url.removeprefix("sqlite:///"))
        connection.set_busy_timeout(10_000)
        connection.execute("UPDATE transcript_events SET payload = x'7b7d' WHERE seq = 2")
        connection.close()
        with pytest.raises(Corrupt, match="event 2"):
            await back_up(store, tmp_path / "backup")
        assert list(tmp_path.glob("*backup*")) == []
