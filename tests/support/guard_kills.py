"""Kills a guard again and again while a program writes the transcripts that it guards; then nothing is missing.

`python -m tests.support.guard_kills --kills 100 --seed 1 --claude` counts them, and says what was found.
"""

import asyncio
import contextlib
import json
import random
import sys
import tempfile
import threading
from pathlib import Path
from typing import Protocol

import click
from tests.cli.command import answer
from tests.support.claude_cli import ClaudeCode, ClaudeWriter, simulator
from tests.support.postgres import running_server
from tests.support.processes import holdfast

from holdfast.store import open_store

SESSIONS = 3
PAUSE = 0.01


class Writer(threading.Thread):
    """Writes lines as an agent does: often a part of one first, some with a uuid, the same body again and again."""

    def __init__(self, folder: Path, seed: int, sessions: int = SESSIONS) -> None:
        super().__init__(daemon=True)
        self.stop = threading.Event()
        self._random = random.Random(seed)
        self._files = [folder / f"{number:08}-1111-4111-8111-111111111111.jsonl" for number in range(sessions)]

    def run(self) -> None:
        number = 0
        while not self.stop.wait(PAUSE):
            number += 1
            named = {"uuid": f"u{number}"} if self._random.random() < 0.5 else {}
            body = {"type": "user", **named, "message": {"role": "user", "content": f"word{number % 7}"}}
            raw = json.dumps(body).encode() + b"\n"
            cut = self._random.randrange(len(raw))
            with self._random.choice(self._files).open("ab", buffering=0) as file:
                file.write(raw[:cut])
                file.write(raw[cut:])


class LineWriter(Protocol):
    """A thread that writes transcripts until it is stopped."""

    stop: threading.Event

    def start(self) -> None: ...

    def join(self) -> None: ...


def kill_guards(
    folder: Path, data: Path, *, kills: int, seed: int, sessions: int = SESSIONS, url: str | None = None
) -> int:
    """Kill guards at random moments while lines are written; then all of them are kept once: how many there were."""
    return kill_guards_beside(plain_writer(folder, seed, sessions), folder, data, kills=kills, seed=seed, url=url)


def plain_writer(folder: Path, seed: int, sessions: int) -> Writer:
    """Who writes lines to so many sessions of one project."""
    project = folder / "projects" / "-work"
    project.mkdir(parents=True, exist_ok=True)
    return Writer(project, seed, sessions)


def kill_guards_beside(
    writer: LineWriter, folder: Path, data: Path, *, kills: int, seed: int, url: str | None = None
) -> int:
    """The same beside any writer; the store is in the data folder, or at this URL."""
    chance = random.Random(seed)
    store = [] if url is None else ["--store", url]
    data.mkdir(exist_ok=True)
    writer.start()
    for _ in range(kills):
        with holdfast("guard", "--folder", str(folder), "--data", str(data), "--verbatim", *store) as guard:
            writer.stop.wait(chance.uniform(0.2, 2.0))
            guard.kill()
            guard.wait()
    writer.stop.set()
    writer.join()
    answer("guard", "--once", "--verbatim", "--folder", str(folder), *store, data=data)
    count = 0
    for path in (folder / "projects").rglob("*.jsonl"):
        name = path.stem if path.parent.name != "subagents" else f"{path.parents[1].name}.{path.stem}"
        written = path.read_bytes().splitlines()
        assert kept(data, name, url) == written, f"{name}: other lines were kept than were written"
        count += len(written)
    assert count and answer("sessions", "verify", *store, data=data)["ok"]
    return count


def kept(data: Path, session_id: str, url: str | None = None) -> list[bytes]:
    """The lines that were kept of a session, in their order, byte for byte."""

    async def read() -> list[bytes]:
        async with await open_store(url or f"sqlite:///{data}/holdfast.db", read_only=True) as store:
            return [each.payload for each in await store.read(session_id) if each.event_id.startswith("line-")]

    return asyncio.run(read())


@click.command()
@click.option("--kills", default=100, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=1, show_default=True)
@click.option("--sessions", default=SESSIONS, show_default=True, type=click.IntRange(1), help="How many files grow.")
@click.option("--postgres", is_flag=True, help="On a PostgreSQL server instead of SQLite.")
@click.option("--claude", is_flag=True, help="Beside the real command line of Claude Code, against the simulator.")
def main(kills: int, seed: int, sessions: int, postgres: bool, claude: bool) -> None:
    """Kill a guard so often, and say what was found."""
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        root = Path(place)
        url = stack.enter_context(running_server()).new_database() if postgres else None
        writer: LineWriter
        if claude:
            program = ClaudeCode(root / "home", stack.enter_context(simulator()))
            folder, writer = program.folder, ClaudeWriter(program)
        else:
            folder = root / "claude"
            writer = plain_writer(folder, seed, sessions)
        lines = kill_guards_beside(writer, folder, root / "data", kills=kills, seed=seed, url=url)
    beside = "beside Claude Code" if claude else "beside a writer of lines"
    click.echo(f"{kills} kills {beside}, seed {seed}: {lines:,} lines written, each kept once")


if __name__ == "__main__":
    sys.exit(main())
