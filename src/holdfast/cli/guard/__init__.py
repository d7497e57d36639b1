"""`holdfast guard`."""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from holdfast.cli import output
from holdfast.cli.errors import CANNOT, says_errors
from holdfast.cli.options import Location, location_options
from holdfast.cli.service import run, serving
from holdfast.core.errors import HoldfastError
from holdfast.core.problem import problem
from holdfast.terminal.progress import ProgressLine
from holdfast.terminal.text import one_line

if TYPE_CHECKING:
    from holdfast.transcripts.guard import TranscriptGuard
    from holdfast.transcripts.guard.watch import FileSignature

LOOK_SECONDS = 0.5
LONGEST_PAUSE = 0.9
SHARE = 9
"""A look is followed by a pause of so many times its length, as far as lines are still kept within a second."""
AGAIN_SECONDS = 1.0
MANY = 200
"""Files that are kept before the next look; of more, it is quicker to list all sessions than to ask for each."""
FEW = 20
"""Files that are looked at as if they were not known: that is as quick."""
MOST_SAID = 20
PASSES = frozenset({409, 429, 502, 503, 504, 507})
"""Statuses of a gateway or a store that is away, busy, full or in use: what was not kept waits in its files."""
REMEMBER_SECONDS = 60.0
"""How often what is kept is noted for the next run, while lines come."""
KNOWN = "guard"
"""The folder in the data folder that has these notes."""
STOPPED = frozenset({130, 143})


@click.command()
@click.option(
    "--folder",
    "folders",
    multiple=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder of the program's; repeat it for more.  [default: the one that the program itself uses]",
)
@click.option(
    "--source",
    "name",
    type=click.Choice(["claude-code", "codex", "openclaw"]),
    default="claude-code",
    show_default=True,
    help="The program that writes there.",
)
@click.option(
    "--mask/--verbatim",
    "masks",
    default=True,
    show_default=True,
    help="Mask secrets in the lines of new sessions, or keep every byte.",
)
@click.option("--once", is_flag=True, help="Keep what there is now, and end: for cron.")
@click.option("--install", is_flag=True, help="Write a systemd user unit that does this, and say how to start it.")
@location_options
@says_errors
def guard(
    where: Location,
    as_json: bool,
    folders: tuple[Path, ...],
    name: str,
    masks: bool,
    once: bool,
    install: bool,
) -> None:
    """Keep every session that a coding agent writes to its folders, line by line as it comes.

    The folders are only read. What was kept stays when the program deletes or rewrites its files. If the gateway or
    this command is away for a while, nothing is missed: the files themselves are what is read again. Ctrl-C ends it.
    A session that cannot be kept is named, and the exit code is then 2.
    """
    if install:
        from holdfast.cli.guard.guard_unit import install_unit

        done = install_unit(where, folders or (_own_folder(name),), name, masks=masks)
        output.as_json(done) if as_json else click.echo(done["next"])
        return
    watching = _Watching(where, folders or (_own_folder(name),), name, masks=masks, as_json=as_json)
    try:
        run(watching.once() if once else watching.forever())
    except SystemExit as end:
        if once or end.code not in STOPPED:
            raise
    watching.say_end()
    if watching.refused:
        sys.exit(CANNOT)


def _own_folder(name: str) -> Path:
    """Where a program keeps its sessions if nobody says otherwise."""
    home = Path.home()
    places = {
        "claude-code": Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude"),
        "codex": Path(os.environ.get("CODEX_HOME") or home / ".codex"),
        "openclaw": Path(os.environ.get("OPENCLAW_STATE_DIR") or home / ".openclaw"),
    }
    return places[name]


class _Look(NamedTuple):
    """How long it took to see what has changed, and how many files still wait."""

    seconds: float
    left: int


class _Watching:
    """The guards of some folders, and what is said of their work."""

    def __init__(self, where: Location, folders: tuple[Path, ...], name: str, *, masks: bool, as_json: bool) -> None:
        from holdfast.transcripts.guard import FolderWatch, KnownFiles, TranscriptGuard
        from holdfast.transcripts.sources import file_source

        source = file_source(name)
        self._where = where
        self._guards = [
            TranscriptGuard(
                FolderWatch(source, folder), masks=masks, known=KnownFiles(where.data / KNOWN, name, folder)
            )
            for folder in folders
        ]
        self._remembered: dict[Path, float] = {}
        self._as_json = as_json
        self._there: set[str] | None = None
        self._told = 0
        self._refusals: dict[str, str] = {}
        self._away = False

    @property
    def refused(self) -> dict[str, str]:
        return {file: reason for guard in self._guards for file, reason in guard.report.refused.items()}

    async def once(self) -> None:
        """Keep what there is now."""
        with ProgressLine() as progress:
            while (await self._look(progress)).left:
                pass

    async def forever(self) -> None:
        """Keep what there is, then what comes, until somebody ends it."""
        folders = ", ".join(str(guard.watch.folder) for guard in self._guards)
        click.echo(f"guarding {one_line(folders)}; Ctrl-C ends it", err=True)
        with ProgressLine() as progress:
            while True:
                try:
                    look = await self._look(progress)
                except HoldfastError as error:
                    if problem(error)["status"] not in PASSES:
                        raise
                    self._say_away(error)
                    await asyncio.sleep(AGAIN_SECONDS)
                    continue
                self._say_back()
                if not look.left:
                    await asyncio.sleep(min(max(LOOK_SECONDS, SHARE * look.seconds), LONGEST_PAUSE))

    async def _look(self, progress: ProgressLine) -> "_Look":
        """Keep what has changed, the newest first, and not so much that what comes meanwhile would wait."""
        seconds, left = 0.0, 0
        for guard in self._guards:
            began = time.monotonic()
            changes = await asyncio.to_thread(guard.watch.changes)
            seconds += time.monotonic() - began
            if changes:
                changes = await self._recall(guard, changes)
            if changes:
                now = sorted(changes.items(), key=lambda each: -each[1].mtime_ns)[:MANY]
                left += len(changes) - len(now)
                await self._keep(guard, now, known=len(changes) > MANY)
                if left:
                    progress(f"{left:,} files to look at: {guard.report.lines:,} lines kept")
                else:
                    count = output.number(len(guard.watch), "session")
                    progress(f"{guard.report.lines:,} lines kept of {count}", at_once=True)
        self._say_notes(progress)
        return _Look(seconds, left)

    async def _recall(
        self, guard: "TranscriptGuard", changes: "dict[Path, FileSignature]"
    ) -> "dict[Path, FileSignature]":
        """The changes without what an earlier run has kept; nobody is asked for a few files, or more than once."""
        from holdfast.cli.guarded_sessions import GuardedSessions

        if guard.recalled or len(changes) <= FEW:
            return changes
        async with serving(self._where, writes=True, creates=True) as service:
            return await guard.recall(GuardedSessions(service), changes)

    async def _keep(
        self, guard: "TranscriptGuard", changes: "list[tuple[Path, FileSignature]]", *, known: bool
    ) -> None:
        from holdfast.cli.guarded_sessions import GuardedSessions

        async with serving(self._where, writes=True, creates=True) as service:
            if not known:
                self._there = None
            elif self._there is None:
                self._there = {session_id async for session_id in GuardedSessions(service).session_ids()}
            sessions = GuardedSessions(service, self._there)
            for path, signature in changes:
                await guard.keep(sessions, path, signature)
            if not known and self._where.data.is_dir() and self._is_due(guard):
                await guard.remember(sessions)

    def _is_due(self, guard: "TranscriptGuard") -> bool:
        """Whether it is time again to note what this guard has kept."""
        now, folder = time.monotonic(), guard.watch.folder
        if now < self._remembered.get(folder, -REMEMBER_SECONDS) + REMEMBER_SECONDS:
            return False
        self._remembered[folder] = now
        return True

    def _say_notes(self, progress: ProgressLine) -> None:
        notes = [note for guard in self._guards for note in guard.report.notes.first][self._told :]
        self._told += len(notes)
        progress.clear()
        for note in notes[:MOST_SAID]:
            where = f"{one_line(str(note.file))} line {note.line}"
            click.echo(f"{note.code.replace('_', ' ')}: {where}: {one_line(note.message)}", err=True)
        if len(notes) > MOST_SAID:
            click.echo(f"and {len(notes) - MOST_SAID:,} more", err=True)
        for file, reason in self.refused.items():
            if self._refusals.get(file) != reason:
                click.echo(f"refused: {output.refusal(file, reason)}", err=True)
        self._refusals = self.refused

    def _say_away(self, error: HoldfastError) -> None:
        if not self._away:
            click.echo(f"waiting: {one_line(error.message)}", err=True)
        self._away = True

    def _say_back(self) -> None:
        if self._away:
            click.echo("going on: nothing was missed", err=True)
        self._away = False

    def say_end(self) -> None:
        """What was kept in all."""
        reports = [guard.report for guard in self._guards]
        done: dict[str, Any] = {
            "sessions": sum(report.sessions for report in reports),
            "lines": sum(report.lines for report in reports),
            "masked": sum(report.masked for report in reports),
            "notes": {code: count for report in reports for code, count in report.notes.counts.items()},
            "refused": [{"file": file, "reason": reason} for file, reason in self.refused.items()],
        }
        if self._as_json:
            output.as_json(done)
            return
        click.echo(f"{output.number(done['lines'], 'new line')}, {output.number(done['sessions'], 'new session')}")
        if done["masked"]:
            click.echo(f"secrets were masked in {output.number(done['masked'], 'line')}")
