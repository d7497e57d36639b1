"""How a task is checked at its end: the files that it changed are there, and Python among them compiles.

The checks are written down as the commands that anybody could run; here they are done without a shell, and without
running anything of the project's: whatever else a definition of done names as a check fails.
"""

import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.core.errors import HoldfastError
from holdfast.runtime.workspace import read_text, within

EXISTS = ("test", "-f")
COMPILES = ("python", "-m", "py_compile")
MAX_OUTPUT = 2_000
MAX_SOURCE = 8 * 1024 * 1024


def commands_for(touched_files: Sequence[str]) -> list[str]:
    """The checks of files that a task has changed."""
    commands = []
    for path in touched_files:
        commands.append(shlex.join([*EXISTS, path]))
        if path.endswith(".py"):
            commands.append(shlex.join([*COMPILES, path]))
    return commands


def check(workspace: Path, command: str) -> dict[str, Any]:
    """What a check gives: its command, whether it passed, its exit code and its output. Blocks."""
    try:
        problem = _problem(workspace, shlex.split(command))
    except (HoldfastError, OSError, ValueError, RuntimeError) as error:
        problem = f"it cannot be checked: {error}"
    return {
        "command": command,
        "passed": problem is None,
        "exit_code": 0 if problem is None else 1,
        "output": (problem or "")[:MAX_OUTPUT],
    }


def report(evidence: Sequence[dict[str, Any]]) -> str:
    """The block that ends an answer: each check in a line."""
    lines = [f"- {'PASS' if found['passed'] else 'FAIL'} `{found['command']}`{_why(found)}" for found in evidence]
    return "\n".join(["Verification:", *(lines or ["- SKIP nothing was changed that could be checked"])])


def _problem(workspace: Path, words: Sequence[str]) -> str | None:
    """What is wrong, by the check that these words mean."""
    *verb, path = words or [""]
    if tuple(verb) == EXISTS:
        return None if within(workspace, path).is_file() else f"{path} is not there"
    if tuple(verb) == COMPILES:
        return _compile_error(read_text(workspace, path, MAX_SOURCE), path)
    return "it is not a check of this runtime"


def _why(found: dict[str, Any]) -> str:
    return "" if found["passed"] or not found["output"] else f": {found['output'].splitlines()[0]}"


def _compile_error(source: str, path: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"{path}:{error.lineno}: {type(error).__name__}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"{path}: {type(error).__name__}: {error}"
    return None
