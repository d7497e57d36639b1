"""Looks into the store of a target that we do not know, with a command of the user's (`--probe-command`)."""

import json
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from holdfast.prove.targets.target import ProbeFailed
from holdfast.prove.targets.tool import CommandFailed, run_on_leash

PROBE_SECONDS = 10.0


async def ask(line: str, context_id: str, within: float = PROBE_SECONDS) -> dict[str, Any]:
    """The JSON object that the command prints; `{context}` in it is filled in."""
    words = [word.replace("{context}", context_id) for word in shlex.split(line)]
    with TemporaryDirectory() as folder:
        try:
            printed = await run_on_leash(words, Path(folder), within=within)
        except CommandFailed as error:
            raise ProbeFailed(f"--probe-command {error.message}", hint=error.hint) from error
        try:
            document = json.loads(printed)
        except ValueError as error:
            raise ProbeFailed(f"--probe-command printed no JSON: {error}") from None
    if not isinstance(document, dict):
        raise ProbeFailed(f"--probe-command printed {type(document).__name__}, not a JSON object")
    return document
