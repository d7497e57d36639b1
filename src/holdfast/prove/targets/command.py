"""Any command that starts an A2A server, and the words of a command line."""

import os
import shlex
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.prove.targets.probe import ask
from holdfast.prove.targets.process import Launch, Probe
from holdfast.prove.wire.client import CARD_PATHS


def split(line: str, option: str = "--command") -> list[str]:
    """The words of a command line, split as a shell would; InvalidInput if it has none."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InvalidInput(f"{option} cannot be split into words: {error}", hint="look at its quotes") from None
    if not words:
        raise InvalidInput(f"{option} is empty", hint="for example --command 'python agent.py' --port 8000")
    return words


def command(
    line: str,
    data: Path,
    port: int,
    workspace: Path | None,
    probe_command: str | None = None,
    *,
    peer_url: str | None = None,
    next_line: str | None = None,
) -> Launch:
    """The command, run without a shell; ready when its agent card answers.

    `{port}`, `{data}` and `{peer}`, the URL of an agent that it may ask, are filled in; the port is in the environment
    as PORT too. `next_line` starts the next version, with the same filled in.
    """
    filling = {"{port}": str(port), "{data}": str(data), "{peer}": peer_url or ""}
    filled = fill(split(line), filling)
    return Launch(
        name=f"command {shlex.join(filled)}",
        command=filled,
        port=port,
        ready_paths=CARD_PATHS,
        workspace=workspace,
        environment={**os.environ, "PORT": str(port)},
        peer_url=peer_url if "{peer}" in line else None,
        probe=Probe(partial(ask, probe_command), probe_command) if probe_command else None,
        next_command=fill(split(next_line, "--next-command"), filling) if next_line else (),
    )


def fill(words: Iterable[str], filling: Mapping[str, str]) -> tuple[str, ...]:
    """The words with each place in them filled in."""
    return tuple(_fill(word, filling) for word in words)


def _fill(word: str, filling: Mapping[str, str]) -> str:
    for place, value in filling.items():
        word = word.replace(place, value)
    return word
