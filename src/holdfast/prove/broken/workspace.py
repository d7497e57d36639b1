"""The runtime's folder, which clients know as `/workspace`: references to files in it, uploads to it.

Nothing outside it is read or written.
"""

import re
from pathlib import Path
from urllib.parse import unquote

from holdfast.core.errors import InvalidInput

URI = re.compile(r"(?:workspace|file):(?://)?(?=/)", re.IGNORECASE)


def resolve(workspace: Path, reference: str) -> Path:
    """The path that `workspace:/workspace/…`, `file:///workspace/…`, `/workspace/…` or a bare path means."""
    uri = URI.match(reference)
    path = unquote(reference[uri.end() :]) if uri else reference
    below = path.removeprefix("/workspace/")
    found = (workspace / below).resolve()
    if below.startswith("/") or "\0" in below or not found.is_relative_to(workspace.resolve()):
        raise InvalidInput(f"{reference!r:.200} is not in the workspace")
    return found


def read(workspace: Path, reference: str) -> bytes:
    """The content of a file of the workspace."""
    path = resolve(workspace, reference)
    if not path.is_file():
        raise InvalidInput(f"there is no file {reference!r:.200}")
    return path.read_bytes()


def upload(workspace: Path, folder: str, name: str, content: bytes) -> str:
    """Keep an uploaded file under a name of its own; returns the reference to it."""
    safe = re.sub(r"[^\w.-]", "_", Path(name).name).lstrip(".") or "file"
    path = workspace / "uploads" / folder / safe
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return f"workspace:/workspace/uploads/{folder}/{safe}"
