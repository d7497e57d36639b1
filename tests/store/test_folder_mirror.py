"""A folder that is kept as a store's sessions are: nothing missing, nothing twice, and nothing that was taken back."""

import json
import resource
from pathlib import Path

import pytest
from tests.store.test_folder_transfer import ReadableSessions
from tests.support.disks import fill, small_disk

from holdfast.core.errors import Conflict, InvalidInput, StorageFull
from holdfast.store import NewEvent, Store
from holdfast.store.portable import FolderWriter
from holdfast.store.transfer import FolderMirror

HISTORY = "store-1"


@pytest.fixture
def sessions(store: Store) -> ReadableSessions:
    return ReadableSessions(store)


def notes(*numbers: int) -> list[NewEvent]:
    return [NewEvent("note", {"n": number}) for number in numbers]


def lines_of(root: Path, session_id: str = "s") -> list[dict[str, object]]:
    raw = (root / "sessions" / session_id / "actions.jsonl").read_text()
    assert raw.endswith("\n")
    return [json.loads(line) for line in raw.splitlines()]


def said(root: Path) -> list[object]:
    return [line["details"] and line["details"]["n"] for line in lines_of(root)]  # type: ignore[index]


async def test_what_was_erased_goes_from_lines_that_are_there(
    store: Store, sessions: ReadableSessions, tmp_path: Path
) -> None:
    root = tmp_path / "files"
    await store.append("s", notes(1, 2, 3))
    with FolderMirror(root) as mirror:
        assert await mirror.bring(sessions, "s") == 3
        await store.erasure.erase("s", [2], reason="asked")
        await store.append("s", notes(4))
        assert await mirror.bring(sessions, "s") == mirror.reached("s") == 5
        assert said(root) == [1, None, 3, 4]
        assert "erased" in lines_of(root)[1]
        await store.append("s", notes(5))
        await mirror.bring(sessions, "s")
        assert said(root) == [1, None, 3, 4, 5]


async def test_an_erasure_in_a_session_that_was_half_written_is_not_passed_over(
    store: Store, sessions: ReadableSessions, tmp_path: Path
) -> None:
    """The one who wrote was killed between two pages, before it said up to where the folder is complete."""
    root = tmp_path / "files"
    await store.append("s", notes(1, 2, 3))
    with FolderMirror(root):
        pass
    with FolderWriter(root, "s", one_file=True) as folder:
        async for event in sessions.events("s", 0, 2):
            folder.event(event)
        folder.flush()
    await store.erasure.erase("s", [1], reason="asked")
    with FolderMirror(root) as mirror:
        assert mirror.reached("s") == 0
        await mirror.bring(sessions, "s")
    assert said(root) == [None, 2, 3]


async def test_a_session_that_is_gone_goes_and_a_half_line_is_cut_off(
    store: Store, sessions: ReadableSessions, tmp_path: Path
) -> None:
    root = tmp_path / "files"
    await store.append("s", notes(1, 2))
    await store.append("t", notes(1))
    with FolderMirror(root) as mirror:
        await mirror.bring(sessions, "s")
        await mirror.bring(sessions, "t")
        with (root / "sessions/s/actions.jsonl").open("a") as file:
            file.write('{"type":"no')
        await store.append("s", notes(3))
        await mirror.bring(sessions, "s")
        assert said(root) == [1, 2, 3]
        await store.deletion.delete("t")
        assert await mirror.bring(sessions, "t") == 0
        assert list(mirror.session_ids()) == ["s"]
    assert [path for path in root.rglob("*") if path.stat().st_mode & 0o077] == []


async def test_a_folder_that_somebody_spoiled_is_written_anew(
    store: Store, sessions: ReadableSessions, tmp_path: Path
) -> None:
    root, elsewhere = tmp_path / "files", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").write_text("mine")
    await store.append("s", notes(1, 2))
    with FolderMirror(root) as mirror:
        await mirror.bring(sessions, "s")
        (root / "sessions/s/actions.jsonl").write_text("nonsense\n")
        (root / "sessions/s/metadata.json").unlink()
        await mirror.bring(sessions, "s")
        assert said(root) == [1, 2]
        mirror.remove("s")
        (root / "sessions/s").symlink_to(elsewhere)
        await mirror.bring(sessions, "s")
        assert said(root) == [1, 2]
    assert [path.name for path in elsewhere.iterdir()] == ["mine"]


async def test_folders_of_another_history_are_not_gone_on_with(
    store: Store, sessions: ReadableSessions, tmp_path: Path
) -> None:
    root = tmp_path / "files"
    await store.append("s", notes(1, 2))
    for history, kept in ((HISTORY, False), (HISTORY, True), ("store-2", False)):
        with FolderMirror(root) as mirror:
            mirror.adopt(history)
            assert (mirror.reached("s") == 2) is kept
            await mirror.bring(sessions, "s")


def test_a_folder_of_others_is_refused_and_so_is_a_second_writer(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "sessions" / "old").mkdir(parents=True)
    with pytest.raises(InvalidInput, match="not written here"):
        FolderMirror(theirs).prepare()
    assert (theirs / "sessions" / "old").is_dir()
    with FolderMirror(tmp_path / "ours"):
        FolderMirror(tmp_path / "ours").prepare()
        with pytest.raises(Conflict, match="another process"), FolderMirror(tmp_path / "ours"):
            pass


async def test_a_disk_that_takes_half_a_line_keeps_none_of_it(
    store: Store, sessions: ReadableSessions, tmp_path: Path
) -> None:
    """The system lets files grow by thirty bytes and no more."""
    root = tmp_path / "files"
    await store.append("s", notes(1))
    with FolderMirror(root) as mirror:
        await mirror.bring(sessions, "s")
        path = root / "sessions/s/actions.jsonl"
        before = path.read_bytes()
        await store.append("s", notes(2))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        (event,) = [event async for event in sessions.events("s", 1, 1)]
        folder = FolderWriter(root, "s", one_file=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 30, limits[1]))
        try:
            with pytest.raises(InvalidInput, match="too large"), folder:
                folder.event(event)
                folder.flush()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert path.read_bytes() == before
        await mirror.bring(sessions, "s")
        assert said(root) == [1, 2]


async def test_a_full_disk_is_said_and_what_is_there_stays_whole(
    store: Store, sessions: ReadableSessions, tmp_path: Path
) -> None:
    await store.append("s", notes(1))
    with small_disk(tmp_path, 2) as disk, FolderMirror(disk / "files") as mirror:
        await mirror.bring(sessions, "s")
        fill(disk / "ballast", 4096)
        await store.append("s", [NewEvent("note", {"n": 2, "text": "x" * 100_000})])
        with pytest.raises(StorageFull):
            await mirror.bring(sessions, "s")
        assert said(disk / "files") == [1]
        (disk / "ballast").unlink()
        await mirror.bring(sessions, "s")
        assert said(disk / "files") == [1, 2]
