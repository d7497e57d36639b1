"""The workspace: the one folder in which an agent's tools may write."""

from pathlib import Path
from typing import ClassVar

from holdfast.core import HoldfastError


class OutsideWorkspace(HoldfastError):
    """The path leads out of the workspace, or to something that is no file."""

    code: ClassVar[str] = "outside_workspace"
    status: ClassVar[int] = 403


def inside(workspace: Path, file_path: str) -> Path:
    """The real path of a file in the workspace; OutsideWorkspace if it is anywhere else, also by a symbolic link."""
    root = workspace.resolve()
    if not file_path or "\0" in file_path or ".." in Path(file_path).parts:
        raise OutsideWorkspace(f"{file_path!r} is not a path in the workspace")
    path = (root / file_path).resolve()
    if path == root or not path.is_relative_to(root):
        raise OutsideWorkspace(f"{file_path!r} is outside the workspace")
    return path
