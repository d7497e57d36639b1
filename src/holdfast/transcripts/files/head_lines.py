"""The first lines of a transcript, looked at for what the session is: where, when, which model, which words."""

import json
from pathlib import Path
from typing import Any

from holdfast.core.errors import HoldfastError
from holdfast.transcripts.files.json_lines import time_of
from holdfast.transcripts.files.line_file import open_plain

MOST_BYTES = 256 * 1024
MOST_LINES = 200


def first_objects(path: Path, most_bytes: int = MOST_BYTES) -> list[dict[str, Any]]:
    """The JSON objects of a file's first lines; what cannot be read is left out here, and is reported with its line."""
    try:
        with open_plain(path) as file:
            lines = file.read(most_bytes).split(b"\n")[:MOST_LINES]
    except (HoldfastError, OSError):
        return []
    found = []
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def first_time(path: Path, lines: list[dict[str, Any]]) -> int | None:
    """When a session began: the first time that its lines say, else that of its file; None if there is no such file."""
    said = (time_of(line.get("timestamp")) for line in lines)
    found = next((time for time in said if time is not None), None)
    if found is not None:
        return found
    try:
        return path.lstat().st_mtime_ns // 1_000_000
    except OSError:
        return None
