"""Backups: taken while others write, checked, and put back under a new id."""

import asyncio
import contextlib
import struct
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import apsw
import pytest
from tests.store.syncs import noted
from tests.support.postgres import Server
from tests.support.steps import run

from holdfast.core.errors import Conflict, Corrupt, HistoryChanged, InvalidInput, SchemaUnknown
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.backup.backup import back_up, remove_unfinished, restore

pytestmark = pytest.mark.own_store


def fresh_url(store: Store, tmp_path: Path, postgres: Server) -> str:
    """An empty place for another store on the same engine."""
    return f"sqlite:///{tmp_path}/restored/holdfast.db" if store.engine.name == "sqlite" else postgres.new_database()


async def test_a_backup_taken_while_others_write_is_one_moment_of_the_store(
    store: Store, tmp_path: Path, postgres: Server
) -> None:
    await store.for_tenant("other").append("theirs", [NewEvent("note", {"n": 1})])
    await store.memories.put("facts", "name", "Mira")
    await store.append("deleted", [NewEvent("note", {"n": 1})])
    await store.deletion.delete("deleted")
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


@pytest.mark.tuned(copy_pages=5)
async def test_what_is_written_between_two_steps_of_the_copy_is_not_in_it(
    store: Store, tmp_path: Path, postgres: Server
) -> None:
    """And the copy does not begin again for it."""
    await store.append("s", [NewEvent("note", {"word": "heron", "text": "x" * 3_000}) for _ in range(50)])
    assert (await store.search.find("heron")).hits
    if store.engine.name != "sqlite":  # as in a cluster whose transactions have higher numbers
        await run(store, "UPDATE search_progress SET major = 1000000000000 WHERE name = 'events'")
    loop, copied = asyncio.get_running_loop(), list[int]()

    def told(what: str, done: int, _of: int) -> None:
        if what == "copying" and len(copied) < 100:
            copied.append(done)
            asyncio.run_coroutine_threadsafe(store.append("s", [NewEvent("later", {})]), loop).result(30)

    await back_up(store, tmp_path / "backup", told=told)
    assert copied == sorted(copied)
    assert len(copied) > 5
    async with await restore(tmp_path / "backup", fresh_url(store, tmp_path, postgres)) as copy:
        assert (await copy.verification.session("s")).problem is None
        assert len(await copy.read("s")) == 50
        assert len((await copy.search.find("heron", limit=100)).hits) == 50


async def test_a_restored_store_refuses_cursors_from_before_and_feeds_what_is_new(
    store: Store, tmp_path: Path, postgres: Server
) -> None:
    await store.append("s", [NewEvent("note", {})])
    cursor = await store.feed.now()
    await back_up(store, tmp_path / "backup")
    async with await restore(tmp_path / "backup", fresh_url(store, tmp_path, postgres)) as copy:
        assert copy.store_id != store.store_id
        with pytest.raises(HistoryChanged, match="another store"):
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
    # Of a text that repeats itself a bit may be changed without changing what is unpacked.
    noise = Random(20261116)
    texts = [f"{'y' * 100}{noise.randbytes(1_500).hex()}" for _ in range(50)]
    await store.append("s", [NewEvent("note", {"text": text}) for text in texts])
    path = tmp_path / "backup"
    await back_up(store, path)
    damaged = bytearray(path.read_bytes())
    place = damaged.find(b"y" * 100) if store.engine.name == "sqlite" else middle_of_the_events(path)
    damaged[place] ^= 0x01
    path.write_bytes(damaged)
    with pytest.raises(Corrupt):
        await restore(path, fresh_url(store, tmp_path, postgres))
    assert not list(tmp_path.glob("restored/*"))


def repacked(source: Path, target: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """A PostgreSQL store's backup with other members, each with a checksum that is right."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target


def replacing(member: str, old: bytes, new: bytes) -> Callable[[dict[str, bytes]], None]:
    return lambda members: members.update({member: members[member].replace(old, new)})


async def test_a_backup_that_was_packed_again_is_not_restored(
    postgres_url: str, tmp_path: Path, postgres: Server
) -> None:
    path, target = tmp_path / "backup", postgres.new_database()
    async with await open_store(postgres_url) as store:
        await store.append("s", [NewEvent("note", {"text": "before"})])
        await back_up(store, path)
    for change in (
        replacing("transcript_event_identities.copy", b"note", b"nope"),
        replacing("manifest.json", b'"last_hash"', b'"hash_last"'),
        replacing("backup.json", b'"schema":', b'"schema":1'),
        lambda members: members.pop("memories.copy"),
        lambda members: members.update({"more.copy": b""}),
    ):
        with pytest.raises((Corrupt, SchemaUnknown)):
            await restore(repacked(path, tmp_path / "changed", change), target)
    async with await restore(repacked(path, tmp_path / "same", lambda _: None), target) as copy:
        assert [event.value() for event in await copy.read("s")] == [{"text": "before"}]


async def test_what_is_no_backup_is_not_restored(store: Store, tmp_path: Path, postgres: Server) -> None:
    (tmp_path / "text").write_text("not a backup")
    for path in (tmp_path / "text", tmp_path / "nothing", tmp_path):
        with pytest.raises(InvalidInput, match="not a backup"):
            await restore(path, fresh_url(store, tmp_path, postgres))


async def test_a_backup_is_on_the_disk_before_it_has_its_name_and_a_restored_file_too(
    store: Store, tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.append("s", [NewEvent("note", {})])
    folder = tmp_path / "copies"
    steps = noted(monkeypatch)
    made = await back_up(store, folder / "backup")
    assert [step for step in steps if step.path.is_relative_to(folder)] == [
        ("sync", folder / ".backup.part", made.size_bytes),
        ("rename", folder / "backup", made.size_bytes),
        ("sync", folder, 0),
    ]
    steps.clear()
    url = fresh_url(store, tmp_path, postgres)
    async with await restore(folder / "backup", url):
        pass
    if store.engine.name == "sqlite":
        assert (folder / "backup").read_bytes()[18:20] == b"\1\1", "it needs a log beside it"
        places = [(step.what, step.path.name) for step in steps if step.path.is_relative_to(tmp_path / "restored")]
        assert places[:3] == [("sync", ".holdfast.db.part"), ("rename", "holdfast.db"), ("sync", "restored")]


async def test_what_a_killed_backup_left_is_in_nobodys_way(store: Store, tmp_path: Path) -> None:
    await store.append("s", [NewEvent("note", {})])
    (tmp_path / ".backup.part").write_bytes(b"half of one")
    (tmp_path / ".backup.part-journal").write_bytes(b"and its journal")
    (tmp_path / ".backup.partial.part").write_bytes(b"not ours")
    await back_up(store, tmp_path / "backup")
    assert sorted(path.name for path in tmp_path.glob("*backup*")) == [".backup.partial.part", "backup"]


async def test_a_second_backup_to_the_same_file_is_refused_and_does_not_touch_the_first(
    store: Store, tmp_path: Path, postgres: Server
) -> None:
    """As by somebody who asks again because the first takes long."""
    await store.append("s", [NewEvent("note", {"text": "x" * 1_000}) for _ in range(50)])
    path, begun, go_on = tmp_path / "backup", threading.Event(), threading.Event()

    def told(_what: str, _done: int, _of: int) -> None:
        begun.set()
        assert go_on.wait(30)

    first = asyncio.create_task(back_up(store, path, told=told))
    try:
        assert await asyncio.to_thread(begun.wait, 30)
        with pytest.raises(Conflict):
            await back_up(store, path)
        remove_unfinished(path)
        assert [each.name for each in tmp_path.glob("*backup*")] == [".backup.part"]
    finally:
        go_on.set()
    assert (await first).size_bytes == path.stat().st_size
    assert [each.name for each in tmp_path.glob("*backup*")] == ["backup"]
    async with await restore(path, fresh_url(store, tmp_path, postgres)) as copy:
        assert len(await copy.read("s")) == 50


SWAPPED = """
    UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'sessions_by_age')
    WHERE name = 'session_tags'"""
SESSIONS_LIKE_IT = """
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 500)
    INSERT INTO sessions (tenant, session_id, agent, status, created_at, updated_at, head_seq, head_hash, document)
    SELECT tenant, session_id || CAST(n AS TEXT), agent, status, created_at, updated_at, head_seq, head_hash, document
    FROM sessions, numbers"""


async def test_every_session_is_checked_however_many_there_are(store: Store, tmp_path: Path) -> None:
    await store.keys.resolve("k", session_id="empty")
    await run(store, SESSIONS_LIKE_IT)
    await store.append("last", [NewEvent("note", {})])
    assert (await back_up(store, tmp_path / "backup")).sessions == 502


async def test_a_damaged_file_gives_no_backup(sqlite_url: str, tmp_path: Path) -> None:
    """Its pages, not what a session says: no copy of it could be used."""
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    async with await open_store(sqlite_url) as store:
        await store.append("s", [NewEvent("note", {"n": n}) for n in range(3)])
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA writable_schema=ON")
    connection.execute(SWAPPED)
    connection.close()
    async with await open_store(sqlite_url, read_only=True) as store:
        with pytest.raises(Corrupt):
            await back_up(store, tmp_path / "backup")
    assert list(tmp_path.glob("*backup*")) == []
