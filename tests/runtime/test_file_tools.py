"""A tool reads and writes in the workspace and nowhere else."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.core import HoldfastError
from holdfast.core.confined_files import folder
from holdfast.runtime.file_tools import FILE_TOOLS
from holdfast.runtime.workspace import MAX_BYTES


def use(workspace: Path, name: str, **arguments: Any) -> str:
    """What one call gives, or why it gives nothing."""
    tool: Any = next(tool for tool in FILE_TOOLS if tool.declaration.name == name)
    try:
        result: str = msgspec.convert(arguments, tool).work(workspace)
    except (HoldfastError, OSError, ValueError) as error:
        return f"error: {error}"
    return result


def attempts(workspace: Path, path: str) -> list[str]:
    """What every tool says to a path."""
    return [
        use(workspace, "read", file_path=path),
        use(workspace, "write", file_path=path, content="x"),
        use(workspace, "edit", file_path=path, old_string="secret", new_string="x"),
        use(workspace, "append_file", file_path=path, text="x"),
    ]


def test_files_are_written_edited_read_and_listed(workspace: Path) -> None:
    assert use(workspace, "list_files") == "the folder is empty"
    assert use(workspace, "write", file_path="a/b.txt", content="zwei ü\n") == "wrote 8 bytes to a/b.txt"
    assert use(workspace, "append_file", file_path=str(workspace / "a" / "b.txt"), text="drei")
    assert use(workspace, "edit", file_path="a/b.txt", old_string="zwei", new_string="two") == "edited a/b.txt"
    assert use(workspace, "read", file_path="a/b.txt") == "two ü\ndrei\n"
    assert use(workspace, "list_files") == "a/"
    assert use(workspace, "list_files", folder="a") == "b.txt (12 bytes)"
    assert [path.name for path in (workspace / "a").iterdir()] == ["b.txt"]


def test_a_long_file_is_read_in_pieces(workspace: Path) -> None:
    (workspace / "long.txt").write_text("".join(f"{number}\n" for number in range(1, 11)))
    assert use(workspace, "read", file_path="long.txt", offset=9) == "9\n10\n"
    assert use(workspace, "read", file_path="long.txt", offset=99) == "[the file has 10 lines]"
    assert (
        use(workspace, "read", file_path="long.txt", offset=2, limit=2)
        == "2\n3\n\n[7 more lines: read on with offset 4]"
    )
    (workspace / "wide.txt").write_text("x" * 100_000 + "\ny\n")
    shown = use(workspace, "read", file_path="wide.txt")
    assert len(shown) < 50_000
    assert shown.endswith("x\n[60001 more characters in this line]\n[1 more lines: read on with offset 2]")
    (workspace / "wide.txt").write_text("x" * 100_000)
    assert use(workspace, "read", file_path="wide.txt").endswith("x\n[60000 more characters in this line]")


def test_an_edit_must_know_what_it_replaces(workspace: Path) -> None:
    (workspace / "a.txt").write_text("one one")
    for old in ("one", "two", ""):
        assert use(workspace, "edit", file_path="a.txt", old_string=old, new_string="x").startswith("error: ")
    assert (workspace / "a.txt").read_text() == "one one"


def test_permissions_stay_and_sizes_are_bounded(workspace: Path) -> None:
    (workspace / "run.sh").write_text("a")
    (workspace / "run.sh").chmod(0o755)
    use(workspace, "write", file_path="run.sh", content="b")
    assert (workspace / "run.sh").stat().st_mode & 0o777 == 0o755
    large = "x" * (MAX_BYTES + 1)
    assert "too many" in use(workspace, "write", file_path="large", content=large)
    assert "too many" in use(workspace, "append_file", file_path="large", text=large)
    (workspace / "grown").write_text(large)
    assert "more than" in use(workspace, "read", file_path="grown")
    (workspace / "binary").write_bytes(b"\xff\xfe\x00")
    assert "not a text file" in use(workspace, "read", file_path="binary")
    assert not (workspace / "large").exists()


@pytest.mark.parametrize("path", ["../out.txt", "a/../../out.txt", "a/../b.txt", "/tmp/out.txt", "", ".", "a\0b"])
def test_a_path_that_leaves_is_refused(workspace: Path, path: str) -> None:
    assert all(said.startswith("error: ") for said in attempts(workspace, path))
    assert list(workspace.parent.rglob("*")) == [workspace]


def test_a_link_that_leaves_is_refused(workspace: Path) -> None:
    outside = workspace.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret\n")
    (workspace / "folder").symlink_to(outside)
    (workspace / "file").symlink_to(outside / "secret.txt")
    (workspace / "dangling").symlink_to(outside / "new.txt")
    for path in ("folder/new.txt", "folder/secret.txt", "file", "dangling"):
        assert attempts(workspace, path) == [f"error: {path!r} is outside the workspace"] * 4
    assert use(workspace, "list_files", folder="folder") == "error: 'folder' is outside the workspace"
    assert use(workspace, "list_files") == "dangling (not a file)\nfile (not a file)\nfolder (not a file)"
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret\n"


def test_a_link_that_stays_inside_is_followed(workspace: Path) -> None:
    (workspace / "real").mkdir()
    (workspace / "link").symlink_to(workspace / "real")
    use(workspace, "write", file_path="link/a.txt", content="x")
    assert (workspace / "real" / "a.txt").read_text() == "x"


def test_a_link_that_appears_after_the_look_is_not_followed(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = workspace.parent / "outside"
    outside.mkdir()
    (workspace / "folder").mkdir()

    def swap(root: Path, names: Any, **more: Any) -> Any:
        (workspace / "folder").rmdir()
        (workspace / "folder").symlink_to(outside)
        return folder(root, names, **more)

    monkeypatch.setattr("holdfast.core.confined_files.folder", swap)
    assert use(workspace, "write", file_path="folder/a.txt", content="x").startswith("error: ")
    assert list(outside.iterdir()) == []


def test_what_is_no_file_is_refused(workspace: Path) -> None:
    (workspace / "folder").mkdir()
    os.mkfifo(workspace / "pipe")
    for path in ("folder", "pipe", "pipe/below"):
        assert all(said.startswith("error: ") for said in attempts(workspace, path))


def test_a_write_that_fails_leaves_the_file_as_it_was(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "a.txt").write_text("before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("holdfast.runtime.workspace.os.fsync", full)
    assert "No space" in use(workspace, "write", file_path="a.txt", content="after")
    assert (workspace / "a.txt").read_text() == "before"
    assert [path.name for path in workspace.iterdir()] == ["a.txt"]
