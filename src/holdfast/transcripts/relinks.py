"""Folders that were renamed or moved: what a session says of its folder follows them.

A session is known by its own id, never by where its file lies, so one that was imported before the move is the same
one after it. Only the folders that it names change, and the session remembers that, so that importing its file again,
which names the old ones, changes nothing.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

RELINKED = "relinked"
"""The member of a session's metadata that says which folders were moved: old to new."""
FOLDERS = ("cwd", "folder")
"""The members of a session's metadata, and of its `source`, that name a folder."""


def relinked(metadata: dict[str, Any], relinks: Mapping[str, str]) -> dict[str, Any]:
    """The metadata of a session with the folders that they name where these are now."""
    moved = _with_folders(metadata, relinks)
    if isinstance(moved.get("source"), dict):
        moved["source"] = _with_folders(moved["source"], relinks)
    return moved if moved == metadata else {**moved, RELINKED: dict(relinks)}


def relinks_of(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The folders that were moved since a session came here, as its metadata say."""
    said = metadata.get(RELINKED)
    return {old: str(new) for old, new in said.items()} if isinstance(said, dict) else {}


def _with_folders(members: Mapping[str, Any], relinks: Mapping[str, str]) -> dict[str, Any]:
    return {name: _moved(value, relinks) if name in FOLDERS else value for name, value in members.items()}


def _moved(folder: Any, relinks: Mapping[str, str]) -> Any:
    if not isinstance(folder, str):
        return folder
    for old, new in relinks.items():
        if PurePath(folder).is_relative_to(old):
            return str(PurePath(new) / PurePath(folder).relative_to(old))
    return folder
