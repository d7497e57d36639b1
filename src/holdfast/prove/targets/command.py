"""Any command that starts an A2A server."""

import os
import shlex
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.prove.targets.process import Launch
from holdfast.prove.wire import CARD_PATHS


def split(line: str) -> list[str]:
    """The words of a command line, split as a shell would; InvalidInput if it has none."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InvalidInput(f"--command cannot be split into words: {error}", hint="look at its quotes") from None
    if not words:
        raise InvalidInput("--command is empty", hint="for example --command 'python agent.py' --port 8000")
    return words


def command(line: str, data: Path, port: int, workspace: Path | None) -> Launch:
    """The command, run without a shell; ready when its agent card answers.

    `{port}` and `{data}` in it are filled in; the port is in the environment as PORT too.
    """
    filled = tuple(word.replace("{port}", str(port)).replace("{data}", str(data)) for word in split(line))
    return Launch(
        name=f"command {shlex.join(filled)}",
        command=filled,
        port=port,
        ready_paths=CARD_PATHS,
        workspace=workspace,
        environment={**os.environ, "PORT": str(port)},
    )
