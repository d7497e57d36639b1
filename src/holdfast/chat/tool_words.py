"""What a tool is asked, in words for people: in short for a line, and exactly for a question about it."""

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.core.errors import HoldfastError, NotFound
from holdfast.core.redact import redact
from holdfast.runtime.workspace import read_text

FIRST = ("command", "file_path", "path", "folder", "url", "key", "name", "query")
"""The arguments that say the most of a call."""
MOST = 200
MAX_COMPARED = 256 * 1024
NOTHING = "(nothing)"


def in_short(arguments: Mapping[str, Any]) -> str:
    """The argument that says the most of a call, on one line and without secrets."""
    name = next((each for each in FIRST if each in arguments), next(iter(arguments), None))
    if name is None:
        return ""
    value = arguments[name]
    text = redact(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= MOST else f"{text[:MOST]}…"


def exactly(tool: str, arguments: Mapping[str, Any], workspace: Path) -> list[str]:
    """What would be done, line by line and in full: a command, the lines of a file that change, or every argument.

    Blocks.
    """
    path = arguments.get("file_path")
    if tool == "bash" and isinstance(arguments.get("command"), str):
        return [f"$ {line}" if number == 0 else f"  {line}" for number, line in enumerate(_rows(arguments["command"]))]
    if tool == "write" and isinstance(path, str) and isinstance(arguments.get("content"), str):
        return _difference(workspace, path, arguments["content"])
    if tool == "edit" and isinstance(path, str):
        old, new = (_text(arguments.get(name)) for name in ("old_string", "new_string"))
        return [path, *(f"- {line}" for line in _rows(old)), *(f"+ {line}" for line in _rows(new))]
    return [f"{name}: {line}" for name, value in arguments.items() for line in _rows(_text(value))] or [NOTHING]


def _difference(workspace: Path, path: str, after: str) -> list[str]:
    """What a file's new content changes in it."""
    new = [f"+ {line}" for line in _rows(after)]
    try:
        before = read_text(workspace, path, MAX_COMPARED)
    except (NotFound, FileNotFoundError):
        return [f"{path} (a new file)", *new]
    except (HoldfastError, OSError, ValueError):
        return [f"{path} (what is there cannot be compared)", *new]
    changes = list(difflib.unified_diff(_rows(before), _rows(after), lineterm="", n=1))[2:]
    lines = [f"{line[0]} {line[1:]}" if line[0] in "+- " else line for line in changes]
    return [f"{path} (it is there already)", *(lines or ["  no line changes"])]


def _rows(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
