"""The files that go with a store are in its backup, and a restore puts them where nothing is, all of them or none."""

from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from holdfast.core.errors import Corrupt, InvalidInput
from holdfast.store import NewEvent, Store, open_store
from holdfast.store.backup.backup import back_up, restore

FILES = {"a.json": b"{}", "deep/er/b.json": b"b" * 5_000, "deep/b.history.jsonl": b"1\n2\n"}


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    """A SQLite store: no other has such files."""
    async with await open_store(sqlite_url) as opened:
        await opened.append("s", [NewEvent("note", {"n": 1})])
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    for name, raw in (FILES | {"a.lock": b"x", "a.json.0.tmp": b"x"}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)
    (folder / "link").symlink_to("a.json")
    return folder


def found_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_files_come_back_as_they_were(store: Store, folder: Path, tmp_path: Path) -> None:
    made = await back_up(store, tmp_path / "backup", folder=folder)
    assert made.files == len(FILES)
    assert made.size_bytes == (tmp_path / "backup").stat().st_size
    target = tmp_path / "restored"
    async with await restore(tmp_path / "backup", f"sqlite:///{target}/h.db", folder=target / "folder") as copy:
        assert len(await copy.read("s")) == 1
        assert await copy.verification.files() == []
        again = await back_up(copy, tmp_path / "again", folder=tmp_path / "nothing")
    assert again.files == 0
    assert found_in(target / "folder") == FILES
    assert sorted(path.name for path in target.iterdir() if path.name.startswith(".")) == []


async def test_a_backup_without_files_makes_no_folder(store: Store, tmp_path: Path) -> None:
    await back_up(store, tmp_path / "backup", folder=tmp_path / "nothing")
    target = tmp_path / "restored"
    async with await restore(tmp_path / "backup", f"sqlite:///{target}/h.db", folder=target / "folder"):
        assert not (target / "folder").exists()


async def test_files_that_are_there_are_never_touched(store: Store, folder: Path, tmp_path: Path) -> None:
    await back_up(store, tmp_path / "backup", folder=folder)
    before = found_in(folder)
    with pytest.raises(InvalidInput, match="there already"):
        await restore(tmp_path / "backup", f"sqlite:///{tmp_path}/restored/h.db", folder=folder)
    assert found_in(folder) == before
    assert not (tmp_path / "restored").exists()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE backup_files SET content = x'00' WHERE name = 'a.json'",
        "UPDATE backup_files SET name = '../a.json' WHERE name = 'a.json'",
    ],
)
async def test_a_backup_whose_files_are_damaged_makes_nothing(
    store: Store, folder: Path, tmp_path: Path, damage: str
) -> None:
    await back_up(store, tmp_path / "backup", folder=folder)
    database = apsw.Connection(str(tmp_path / "backup"))
    database.execute(damage)
    database.close()
    target = tmp_path / "restored"
    target.mkdir()
    with pytest.raises(Corrupt, match="the backup is damaged"):
        await restore(tmp_path / "backup", f"sqlite:///{target}/h.db", folder=target / "folder")
    assert list(target.iterdir()) == []
    assert not (tmp_path / "a.json").exists()
