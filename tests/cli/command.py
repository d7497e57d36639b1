"""Commands in this process, where only their answer matters; `tests/support/processes.py` is for the others."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner, Result

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


def fill(data: Path, sessions: Sequence[str] = ("one", "two"), events: int = 5) -> None:
    """A new store with sessions of some events each."""
    data.mkdir(exist_ok=True)
    with (data / "holdfast.db").open("xb") as file:
        file.write(_filled(tuple(sessions), events))


@cache
def _filled(sessions: tuple[str, ...], events: int) -> bytes:
    """The file of such a store, which is made once."""

    async def write(folder: str) -> None:
        async with await open_store(f"sqlite:///{folder}/holdfast.db") as store:
            for name in sessions:
                notes = [NewEvent("note", {"text": f"a table for {number}", "n": number}) for number in range(events)]
                await store.append(name, notes)
                await store.state.patch(name, {"phase": "ready"})

    with TemporaryDirectory() as folder:
        asyncio.run(write(folder))
        return Path(folder, "holdfast.db").read_bytes()


def _ours() -> list[str]:
    return [name for name in os.environ if name.startswith(("HOLDFAST_", "OPENAI_"))]
