"""What a file of lines has beside its lines: how they end, and what stands behind the last end.

With these, and with the lines, the file can be written again, byte for byte.
"""

import base64
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from holdfast.core.errors import HoldfastError
from holdfast.transcripts.files.line_file import open_plain

LINES = ".jsonl"
CHUNK = 64 * 1024
MOST = 32 * 1024 * 1024
"""Bytes of the end of a file that are looked at: its last line and what stands behind it."""
MOST_TAIL = 256 * 1024
"""Bytes behind the last line's end that are kept; more of them are only in the record of the import."""
CRLF = "crlf"
TAIL = "tail"
TAIL_AFTER = "tailAfter"
"""The SHA-256 of the line before it: once the session has more lines, that is no longer the tail."""


def line_ends(path: Path) -> dict[str, Any]:
    """What a session's metadata say of its file's ends; empty if each line ends with a line feed, the last one too."""
    if path.suffix != LINES:
        return {}
    try:
        with open_plain(path) as file:
            first = file.readline(CHUNK)
            lines, _, tail = _last_bytes(file).rpartition(b"\n")
    except HoldfastError:
        return {}
    found: dict[str, Any] = {CRLF: True} if first.endswith(b"\r\n") else {}
    if 0 < len(tail) <= MOST_TAIL:
        before = lines.rpartition(b"\n")[2].removesuffix(b"\r")
        found |= {TAIL: base64.b64encode(tail).decode(), TAIL_AFTER: sha256(before).hexdigest()}
    return found


def line_end_of(source: Mapping[str, Any]) -> bytes:
    """How the lines of a session's file end."""
    return b"\r\n" if source.get(CRLF) is True else b"\n"


def tail_after(source: Mapping[str, Any], line: bytes) -> bytes:
    """What stands behind the end of the file's last line, if that is this one, or is the line itself without an end."""
    said = source.get(TAIL)
    tail = base64.b64decode(said) if isinstance(said, str) else b""
    after = sha256(line.removesuffix(b"\r")).hexdigest()
    return tail if tail == line or source.get(TAIL_AFTER) == after else b""


def _last_bytes(file: IO[bytes]) -> bytes:
    """The end of a file, with its last two line feeds, as far as that is not too long."""
    found, start = b"", file.seek(0, 2)
    while start and found.count(b"\n") < 2 and len(found) < MOST:
        size = min(start, max(CHUNK, len(found)))
        start -= size
        file.seek(start)
        found = file.read(size) + found
    return found
