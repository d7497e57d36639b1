"""A tool writes in the workspace and nowhere else."""

import os
from pathlib import Path

import pytest

from holdfast.models import ToolCall
from holdfast.runtime.tools import run


async def append(workspace: Path, file_path: str, text: str = "line") -> str:
    return await run(ToolCall("1", "append_file", {"file_path": file_path, "text": text}), workspace)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


async def test_lines_are_appended_in_order(workspace: Path) -> None:
    await append(workspace, "a/b.txt", "one")
    await append(workspace, str(workspace / "a" / "b.txt"), "zwei ü")
    assert (workspace / "a" / "b.txt").read_text() == "one\nzwei ü\n"


@pytest.mark.parametrize("file_path", ["../out.txt", "a/../../out.txt", "a/../b.txt", "/tmp/out.txt", "", ".", "a\0b"])
async def test_a_path_that_leaves_is_refused(workspace: Path, file_path: str) -> None:
    assert (await append(workspace, file_path)).startswith("error: ")
    assert list(workspace.parent.rglob("*")) == [workspace]


async def test_a_link_that_leaves_is_refused(workspace: Path) -> None:
    outside = workspace.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret\n")
    (workspace / "folder").symlink_to(outside)
    (workspace / "file").symlink_to(outside / "secret.txt")
    (workspace / "dangling").symlink_to(outside / "new.txt")
    for path in ("folder/new.txt", "folder/secret.txt", "file", "dangling"):
        assert (await append(workspace, path)) == f"error: {path!r} is outside the workspace"
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret\n"


async def test_what_is_no_file_is_refused(workspace: Path) -> None:
    (workspace / "folder").mkdir()
    os.mkfifo(workspace / "pipe")
    for path in ("folder", "pipe", "pipe/below"):
        assert (await append(workspace, path)).startswith("error: ")
