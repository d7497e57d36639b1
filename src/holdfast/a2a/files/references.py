"""References to files of the workspace, which clients know as `/workspace`, whatever folder it is here.

    workspace:/workspace/notes.txt
    file:///workspace/notes.txt
    /workspace/notes.txt
    notes.txt

In the first two, which are URIs, `%20` is a blank; in the others it is three characters.
"""

import re
from urllib.parse import unquote_to_bytes

from holdfast.core.confined_files import OutsideWorkspace, names_of

FOLDER = "workspace"
REMOTE = re.compile(r"https?:", re.I)
LOCAL = re.compile(r"(?:workspace:|file:(?://)?)(?=/(?!/))", re.I)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})|%2[Ff]|%5[Cc]|%00|[?#]")
"""What has no place in a URI of a file: half an escape, a separator in disguise, a query."""


def is_remote(reference: str) -> bool:
    """Whether it is a web address, which is nothing of ours."""
    return REMOTE.match(reference) is not None


def names_in_workspace(reference: str) -> tuple[str, ...]:
    """The names on the way from the workspace's folder to the file; OutsideWorkspace if it is not there."""
    local = LOCAL.match(reference)
    path = reference if local is None else _unescaped(reference[local.end() :])
    if local is None and SCHEME.match(reference):
        raise _outside(reference)
    if not path.startswith("/"):
        if local is not None:
            raise _outside(reference)
        return names_of(path)
    root, *names = names_of(path)
    if root != FOLDER or not names:
        raise _outside(reference)
    return tuple(names)


def _unescaped(path: str) -> str:
    if ESCAPE.search(path):
        raise _outside(path)
    try:
        return unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        raise _outside(path) from None


def _outside(reference: str) -> OutsideWorkspace:
    return OutsideWorkspace(
        f"{reference!r:.200} is neither a file in the workspace nor a web address",
        hint="workspace:/workspace/notes.txt, for example",
    )
