"""Whoever only reads a SQLite store changes nothing: not a file, not a name, not a time, whoever writes meanwhile."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from tests.support.children import write_until_killed
from tests.support.disks import fill, small_disk
from tests.support.eventually import eventually, wait_until
from tests.support.material import numbered, values
from tests.support.processes import spawn

from holdfast.core.errors import Busy, StorageFull
from holdfast.store import open_store
from holdfast.store.sqlite import read_only
from holdfast.store.sqlite.read_only import BY_LOCKS, FileStamp, FileState, ReadOnlyFile

NOBODY = 65_534
EVENTS = 3


def listing(folder: Path) -> dict[str, tuple[int, ...]]:
    """Names, inodes, sizes, owners, permissions and times of what is in a folder, and the folder's own."""
    found = {each.name: each.stat() for each in (folder, *folder.iterdir())}
    return {
        name: (each.st_ino, each.st_size, each.st_uid, each.st_mode, each.st_mtime_ns)
        for name, each in sorted(found.items())
    }


def written_by_us(folder: Path) -> list[str]:
    """The files of a folder that this process has open for writing."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            target, about = link.readlink(), Path("/proc/self/fdinfo", link.name).read_text()
        except OSError:
            continue
        flags = next(int(line.split()[1], 8) for line in about.splitlines() if line.startswith("flags"))
        if target.parent == folder and flags & (os.O_WRONLY | os.O_RDWR):
            found.append(target.name)
    return found


async def closed(path: Path) -> None:
    """A store that was closed as it should be."""
    async with await open_store(f"sqlite:///{path}") as store:
        await store.append("s", numbered(*range(1, EVENTS + 1)))


async def killed(path: Path) -> None:
    """A store with the log and the index that a killed process leaves."""
    await asyncio.to_thread(leave_log, path)


def leave_log(path: Path) -> None:
    """Write in another process, and kill it."""
    child = spawn(_write_and_wait, str(path))
    done = path.with_name("done")
    try:
        wait_until(lambda: done.exists() or not child.is_alive())
    finally:
        child.kill()
        child.join()
    done.unlink()
    assert Path(f"{path}-wal").stat().st_size
    assert Path(f"{path}-shm").exists()


async def copied(path: Path) -> None:
    """A copy of that: a log, and no index."""
    await killed(path)
    Path(f"{path}-shm").unlink()


WAYS = {"closed": closed, "killed": killed, "copied": copied}


@pytest.fixture(params=list(WAYS))
async def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A store in one of the ways that it can be found, in a folder of its own."""
    folder = tmp_path / "store"
    folder.mkdir()
    await WAYS[request.param](folder / "holdfast.db")
    return folder / "holdfast.db"


async def read_whole(path: Path) -> None:
    """Read a store, and see that nothing is open for writing meanwhile."""
    async with await open_store(f"sqlite:///{path}", read_only=True) as store:
        assert [each["n"] for each in await values(store, "s")] == list(range(1, EVENTS + 1))
        assert await store.verification.files() == []
        assert store.engine.figures()["sizeBytes"]
        assert written_by_us(path.parent) == []


async def test_reading_changes_no_file(path: Path) -> None:
    before = listing(path.parent)
    await read_whole(path)
    assert listing(path.parent) == before


async def test_a_user_who_may_write_nothing_can_read(path: Path) -> None:
    for each in path.parent.iterdir():
        each.chmod(0o444)
    before = listing(path.parent)
    with powerless(path.parent):
        await read_whole(path)
        with pytest.raises(OSError, match="denied"):
            Path(f"{path}-new").touch()
    after = listing(path.parent)
    assert {name: each for name, each in after.items() if name != path.parent.name} == {
        name: each for name, each in before.items() if name != path.parent.name
    }


async def test_reading_beside_a_process_that_writes_changes_nothing_of_it(tmp_path: Path) -> None:
    path, journal = tmp_path / "store" / "holdfast.db", tmp_path / "journal"
    child = spawn(_write_on, f"sqlite:///{path}", str(journal))
    try:
        await eventually(lambda: journal.exists() and journal.read_bytes().count(b"ack") > 20)
        inodes = {name: found[0] for name, found in listing(path.parent).items()}
        for _ in range(20):
            async with await open_store(f"sqlite:///{path}", read_only=True) as store:
                known = journal.read_bytes().count(b"ack")
                assert len(await store.read("s")) >= known
                assert written_by_us(path.parent) == []
        assert {name: found[0] for name, found in listing(path.parent).items()} == inodes
        acknowledged = journal.read_bytes().count(b"ack")
        await eventually(lambda: journal.read_bytes().count(b"ack") > acknowledged)
    finally:
        child.kill()
        child.join()


async def test_a_log_that_goes_as_it_is_opened_is_not_made_again(tmp_path: Path) -> None:
    await closed(tmp_path / "holdfast.db")
    before = listing(tmp_path)
    connection = read_only._connect(str(tmp_path / "holdfast.db"), BY_LOCKS)
    with pytest.raises(apsw.CantOpenError):
        connection.execute("SELECT count(*) FROM sessions")
    connection.close()
    assert listing(tmp_path) == before


async def test_a_server_that_stops_as_its_store_is_opened_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.db"
    await closed(path)

    class Late(ReadOnlyFile):
        """Sees at first what there was before the server stopped."""

        def state(self) -> FileState:
            return stale.pop() if stale else super().state()

    stamp = FileStamp(1, 0, 1)
    stale = [FileState(stamp, stamp, stamp, None)]
    with Late(path).reading() as connection:
        assert connection.execute("SELECT count(*) FROM transcript_events").get >= EVENTS


async def test_a_read_without_locks_is_refused_once_somebody_writes(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.db"
    await closed(path)
    file = ReadOnlyFile(path)
    with pytest.raises(Busy, match="changed while it was read"), file.reading() as connection:
        assert connection.execute("SELECT count(*) FROM transcript_events").get >= EVENTS
        await asyncio.to_thread(leave_log, path)


async def test_damage_that_is_only_half_a_change_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.db"
    await closed(path)
    file = ReadOnlyFile(path)
    with pytest.raises(Busy), file.reading():
        os.truncate(path, 4096)
        raise apsw.CorruptError("half of it")


async def test_a_store_that_was_quiet_is_read_anew_when_it_is_served(tmp_path: Path) -> None:
    path = tmp_path / "holdfast.db"
    await closed(path)
    async with await open_store(f"sqlite:///{path}", read_only=True) as store:
        assert len(await store.read("s")) == EVENTS
        async with await open_store(f"sqlite:///{path}") as writer:
            await writer.append("s", numbered(4))
            assert len(await store.read("s")) == EVENTS + 1
            await writer.append("s", numbered(5))
            assert len(await store.read("s")) == EVENTS + 2


async def test_a_private_copy_follows_and_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, temporary = tmp_path / "store", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    await copied(folder / "holdfast.db")
    async with await open_store(f"sqlite:///{folder}/holdfast.db", read_only=True) as store:
        assert len(await store.read("s")) == EVENTS
        (made,) = temporary.iterdir()
        assert made.stat().st_mode & 0o077 == 0
        await killed(folder / "holdfast.db")
        Path(folder / "holdfast.db-shm").unlink()
        assert len(await store.read("s")) == 2 * EVENTS
    assert list(temporary.iterdir()) == []


async def test_a_private_copy_that_does_not_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store").mkdir()
    await copied(tmp_path / "store" / "holdfast.db")
    (tmp_path / "disk").mkdir()
    with small_disk(tmp_path / "disk", 1) as disk:
        monkeypatch.setattr("tempfile.tempdir", str(disk))
        fill(disk / "full", 100_000)
        with pytest.raises(StorageFull, match="needs") as refused:
            await open_store(f"sqlite:///{tmp_path}/store/holdfast.db", read_only=True)
        assert "TMPDIR" in str(refused.value.hint)
        assert [each.name for each in disk.iterdir()] == ["full"]


async def test_an_index_that_was_left_half_changed_is_not_needed(tmp_path: Path) -> None:
    """As when a writer is killed while it changes the index, and another process still has the store open."""
    path = tmp_path / "store" / "holdfast.db"
    path.parent.mkdir()
    child = spawn(_write_and_wait, str(path))
    try:
        await eventually(path.with_name("done").exists)
        with Path(f"{path}-shm").open("r+b") as index:
            index.seek(16)
            index.write(b"\xff" * 8)
        before = listing(path.parent)
        async with await open_store(f"sqlite:///{path}", read_only=True) as store:
            assert len(await store.read("s")) == EVENTS
        assert listing(path.parent) == before
    finally:
        child.kill()
        child.join()


@contextmanager
def powerless(folder: Path) -> Iterator[None]:
    """This process as a user who may read the folder and write nothing in it."""
    above = [each for each in folder.parents if each.stat().st_mode & 0o001 == 0]
    modes = {each: each.stat().st_mode for each in (folder, *above)}
    for each in above:
        each.chmod(0o755)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for each, mode in modes.items():
            each.chmod(mode)


def _write_on(url: str, journal: str) -> None:
    write_until_killed(url, "s", journal, [], ack_early=False)


def _write_and_wait(path: str) -> None:
    """A child: write, say so, and wait to be killed."""

    async def write() -> None:
        store = await open_store(f"sqlite:///{path}")
        await store.append("s", numbered(*range(1, EVENTS + 1)))
        Path(path).with_name("done").touch()
        await asyncio.sleep(600)

    asyncio.run(write())
