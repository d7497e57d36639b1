"""Running commands: in this process where only the answer matters, as processes where signals and terminals do."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from tests.gateway.process import environment

from holdfast.cli import main
from holdfast.store import NewEvent, open_store


def run(*arguments: str, data: Path | None = None) -> Result:
    """The command in this process, with no terminal."""
    where = [] if data is None else ["--data", str(data)]
    result = CliRunner().invoke(main, [*arguments, *where], env=dict.fromkeys(_ours(), None))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def answer(*arguments: str, data: Path | None = None, code: int = 0) -> Any:
    """The JSON value that the command prints."""
    done = run(*arguments, "--json", data=data)
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def argv(*arguments: str) -> list[str]:
    """The command as a process."""
    return [sys.executable, "-m", "holdfast", *arguments]


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command as a process that is killed at the end if it still runs."""
    with subprocess.Popen(
        argv(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def fill(data: Path, sessions: Sequence[str] = ("one", "two"), events: int = 5) -> None:
    """A store with sessions of some events each."""

    async def write() -> None:
        async with await open_store(f"sqlite:///{data}/holdfast.db") as store:
            for name in sessions:
                notes = [NewEvent("note", {"text": f"a table for {number}", "n": number}) for number in range(events)]
                await store.append(name, notes)
                await store.state.patch(name, {"phase": "ready"})

    data.mkdir(exist_ok=True)
    asyncio.run(write())


def _ours() -> list[str]:
    return [name for name in os.environ if name.startswith(("HOLDFAST_", "OPENAI_"))]
