"""What a hook is given on stdin, and the record that is made of it.

It is untrusted text: nothing of it becomes a command, a path or a format here. A payload that is not one JSON object
is refused. One that is too long is kept as its beginning, with its length: the program that wrote it must not wait.
"""

import json
import os
import re
import time
from typing import Any

MOST = 4 * 1024 * 1024
"""Bytes of a payload that is kept whole."""
HEAD = 64 * 1024
"""Bytes of a longer one that are kept."""
CHUNK = 1024 * 1024
_MEMBER = r'"%s"\s*:\s*"([^"\\]{1,300})"'
NAMED = ("session_id", "hook_event_name", "transcript_path", "cwd", "type", "agent_id", "agent_type")
"""Members that are looked for in the beginning of a payload that is too long."""


class NotAPayload(Exception):
    """What came on stdin is nothing that can be recorded."""


def read(file: int) -> tuple[bytes, int]:
    """The beginning of what comes, as much as is kept, and the length of all of it, which is read to its end."""
    chunks: list[bytes] = []
    length = 0
    while chunk := os.read(file, CHUNK):
        if length <= MOST:
            chunks.append(chunk)
        length += len(chunk)
    return b"".join(chunks), length


def parse(raw: bytes, length: int) -> dict[str, Any]:
    """The object that was said; NotAPayload if there is none."""
    if length > MOST:
        return _beginning(raw, length)
    try:
        said = json.loads(raw, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise NotAPayload(f"stdin is not JSON: {length} bytes, {type(error).__name__}") from None
    if not isinstance(said, dict):
        raise NotAPayload(f"stdin is not a JSON object, but a {type(said).__name__}")
    return said


def session_of(said: dict[str, Any]) -> str | None:
    """The session that a payload names; None if it names none."""
    named = (said.get(name) for name in ("session_id", "sessionId"))
    return next((name for name in named if isinstance(name, str) and name), None)


def record(said: dict[str, Any], about: dict[str, Any]) -> bytes:
    """A payload as a record of the inbox, with a key of its own: it may be sent more than once and is kept once."""
    now = time.time_ns() // 1_000_000
    made = {"key": f"hook-{now:012x}-{os.urandom(8).hex()}", "at": now, **about, "said": said}
    return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _beginning(raw: bytes, length: int) -> dict[str, Any]:
    """What can be said of a payload that is too long."""
    head = raw[:HEAD].decode(errors="replace")
    found: dict[str, Any] = {}
    for name in NAMED:
        said = re.search(_MEMBER % name, head)
        if said is not None:
            found[name] = said[1]
    about = {"tooLong": length, "beginning": head}
    return {**found, **about} if "hook_event_name" in found else {"type": "too_long", **found, "details": about}
