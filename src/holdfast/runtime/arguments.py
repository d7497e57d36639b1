"""The arguments of a tool's call, spelt the one way: calls that do the same have the same.

An effect is known by what it was asked. A model that is asked again may write `./log.txt` for `log.txt`; that must not
make the effect another one, which would run again. The call itself is run as it was written.
"""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from holdfast.core.confined_files import OutsideWorkspace
from holdfast.runtime.tools import ToolUse
from holdfast.runtime.workspace import within

PATHS = ("file_path", "folder")
PORTS = {"http": 80, "https": 443}


def plain(use: ToolUse, workspace: Path) -> dict[str, Any]:
    """A call's arguments: a path by its place in the workspace, a URL without what changes nothing. Blocks."""
    given: dict[str, Any] = msgspec.to_builtins(use)
    for name in PATHS:
        if isinstance(given.get(name), str):
            given[name] = _place(workspace, given[name])
    if isinstance(given.get("url"), str):
        given["url"] = _address(given["url"])
    return given


def _place(workspace: Path, path: str) -> str:
    """A file's own path in the workspace, whatever links lead there; as it is if it leads elsewhere."""
    try:
        return within(workspace, path).relative_to(workspace.resolve()).as_posix()
    except (OutsideWorkspace, OSError, ValueError, RuntimeError):
        return path


def _address(url: str) -> str:
    """A URL with its scheme and host in lower case, and without its scheme's own port and a fragment."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return url
    user, at, _ = parts.netloc.rpartition("@")
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    shown = "" if port in (None, PORTS.get(parts.scheme)) else f":{port}"
    return parts._replace(netloc=f"{user}{at}{host}{shown}", fragment="").geturl()
