"""`holdfast sessions import`."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli import output
from holdfast.cli.errors import CANNOT, says_errors
from holdfast.cli.options import Location, location_options
from holdfast.cli.service import GatewayClient, run, serving
from holdfast.terminal.progress import ProgressLine
from holdfast.terminal.text import one_line

if TYPE_CHECKING:
    from holdfast.transcripts import TranscriptSource

CHUNK = 256 * 1024
COUNT_SECONDS = 0.05


@click.command("import")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--undo", "undoing", is_flag=True, help="PATH is what an import of files kept: take that import back.")
@click.option(
    "--relink",
    "moved",
    metavar="OLD=NEW",
    multiple=True,
    help="A folder that was renamed or moved: sessions that say OLD say NEW; can be given several times.",
)
@click.option(
    "--mask/--verbatim",
    "masks",
    default=False,
    help="Mask secrets in the lines of new sessions of other programs, or keep every byte.  [default: verbatim]",
)
@location_options
@says_errors
def import_(where: Location, as_json: bool, path: Path, undoing: bool, moved: tuple[str, ...], masks: bool) -> None:
    """Read sessions from an archive, from a folder of plain files, or from where another program keeps them.

    An archive is checked as a whole before anything is written; what is here already is left alone. Of files each line
    becomes an event once, however often they are imported, and the files are kept in the data folder. A session that
    cannot be imported is named, with its line, and the others arrive; the exit code is then 2.

    What lies at PATH is recognised: sessions of Claude Code, Codex, OpenClaw and llm, and those of our own older
    layout. Folders of other programs are only read, and no link is followed. Only files of our own older layout in the
    data folder are moved, to the record of the import, once their sessions are here.
    """
    from zipfile import is_zipfile

    if undoing:
        done = run(_undo(where, path))
    elif path.is_file() and is_zipfile(path):
        done = run(_archive(where, path))
    else:
        done = run(_folder(where, path, _relinks(moved), masks=masks))
    if as_json:
        output.as_json(done)
    else:
        _show(done)
    if done.get("refused"):
        sys.exit(CANNOT)


async def _archive(where: Location, path: Path) -> Any:
    size = path.stat().st_size  # noqa: ASYNC240 - nothing else runs yet
    async with serving(where, writes=True, creates=True) as service:
        with ProgressLine() as progress:

            async def chunks() -> AsyncIterator[bytes]:
                done = 0
                with path.open("rb") as file:
                    while chunk := file.read(CHUNK):
                        yield chunk
                        done += len(chunk)
                        progress(f"{output.size(done)} of {output.size(size)} sent")
                progress("checking", at_once=True)

            async with (
                _counting(service, progress),
                service.stream("POST", "/api/import", content=chunks(), media="application/zip") as answer,
            ):
                return json.loads(await answer.aread())


@contextlib.asynccontextmanager
async def _counting(service: GatewayClient, progress: ProgressLine) -> AsyncIterator[None]:
    """Meanwhile, tell whoever looks how many sessions have arrived."""

    async def count() -> None:
        before: int = (await service.call("GET", "/api/status"))["sessions"]
        while True:
            await asyncio.sleep(COUNT_SECONDS)
            arrived = (await service.call("GET", "/api/status"))["sessions"] - before
            if arrived > 0:
                progress(f"{output.number(arrived, 'session')} imported", at_once=True)

    counting = asyncio.create_task(count()) if progress.visible else None
    try:
        yield
    finally:
        if counting is not None:
            counting.cancel()
            await asyncio.gather(counting, return_exceptions=True)


def _relinks(moved: tuple[str, ...]) -> dict[str, str]:
    pairs = [each.partition("=") for each in moved]
    for old, _, new in pairs:
        if not old or not new:
            raise click.BadParameter("name two folders: OLD=NEW", param_hint="--relink")
    return {old: new for old, _, new in pairs}


async def _folder(where: Location, path: Path, relinks: dict[str, str], *, masks: bool) -> Any:
    from holdfast.store.transfer import has_session_folders
    from holdfast.transcripts import recognise, source_of

    source = await asyncio.to_thread(recognise, path)
    if source is None and path.is_dir() and has_session_folders(path):  # noqa: ASYNC240 - nothing else runs yet
        return await _files(where, path)
    if source is None and path.is_file():  # noqa: ASYNC240 - nothing else runs yet
        return await _archive(where, path)
    return await _transcripts(where, path, source or source_of(path), relinks, masks=masks)


async def _transcripts(
    where: Location, path: Path, source: "TranscriptSource", relinks: dict[str, str], *, masks: bool
) -> Any:
    from holdfast.cli.gateway_sessions import GatewaySessions
    from holdfast.transcripts import import_transcripts
    from holdfast.transcripts.legacy import LegacySource
    from holdfast.transcripts.store_sessions import StoreSessions

    ours = isinstance(source, LegacySource) and path.resolve().is_relative_to(where.data.resolve())  # noqa: ASYNC240
    async with serving(where, writes=True, creates=True, in_haste=True) as service:
        with ProgressLine() as progress:

            def tell(number: int, of: int) -> None:
                progress(f"{number:,} of {of:,} sessions imported")

            done = await import_transcripts(
                GatewaySessions(service) if service.store is None else StoreSessions(service.store),
                source,
                path,
                where.data / "imports",
                tell,
                moves=ours,
                masks=masks,
                relinks=relinks,
            )
    return {
        "source": done.source,
        "sessions": done.sessions,
        "thereBefore": done.there_before,
        "events": done.events,
        "notes": [
            {
                "code": note.code,
                "session": note.session_id,
                "file": str(note.file),
                "line": note.line,
                "message": note.message,
            }
            for note in done.notes.first
        ],
        "noteCounts": dict(done.notes.counts),
        "masked": done.notes.masked,
        "refused": [
            {"session": each.session_id, "file": each.file, "code": each.code, "reason": each.reason}
            for each in done.refused
        ],
        "moved": done.moved,
        "kept": str(done.record),
    }


async def _files(where: Location, path: Path) -> Any:
    from holdfast.cli.gateway_sessions import GatewaySessions
    from holdfast.store.transfer import import_folders

    async with serving(where, writes=True, creates=True) as service:
        with ProgressLine() as progress:

            def tell(number: int, of: int) -> None:
                progress(f"{number:,} of {of:,} sessions imported")

            done = await import_folders(GatewaySessions(service), path, where.data / "imports", tell)
    return {
        "sessions": done.sessions,
        "thereBefore": done.there_before,
        "events": done.events,
        "skipped": [each._asdict() for each in done.skipped],
        "refused": [
            {name: value for name, value in asdict(each).items() if value is not None} for each in done.refused
        ],
        "kept": str(done.record),
    }


async def _undo(where: Location, path: Path) -> Any:
    from holdfast.cli.gateway_sessions import GatewaySessions
    from holdfast.store.transfer import restore_files, undo_import

    async with serving(where, writes=True) as service:
        done = await undo_import(GatewaySessions(service), path)
    back, taken = await asyncio.to_thread(restore_files, path)
    moved = {"restored": [str(each) for each in back], "notRestored": [str(each) for each in taken]}
    return {"deleted": done.sessions, "events": done.events, **(moved if back or taken else {})}


def _show(done: dict[str, Any]) -> None:
    for title, name in (("imported", "sessions"), ("here before", "thereBefore"), ("taken back", "deleted")):
        if done.get(name):
            click.echo(f"{title}: {output.number(len(done[name]), 'session')}")
    click.echo(output.number(done.get("events", 0), "event" if "deleted" in done else "new event"))
    for skipped in done.get("skipped", ()):
        click.echo(f"skipped: {one_line(skipped['file'])} line {skipped['line']}: {skipped['reason']}", err=True)
    for note in done.get("notes", ()):
        where = f"{one_line(note['file'])} line {note['line']}"
        click.echo(f"{note['code'].replace('_', ' ')}: {where}: {one_line(note['message'])}", err=True)
    left_off = sum(done.get("noteCounts", {}).values()) - len(done.get("notes", ()))
    if left_off > 0:
        click.echo(f"and {output.number(left_off, 'line')} more of which there is something to say", err=True)
    if done.get("masked"):
        click.echo(f"secrets were masked in {output.number(done['masked'], 'line')}", err=True)
    for path in done.get("restored", ()):
        click.echo(f"moved back: {one_line(path)}", err=True)
    for path in done.get("notRestored", ()):
        click.echo(f"not moved back: something is at {one_line(path)}", err=True)
    for refused in done.get("refused", ()):
        why = output.refusal(refused.get("file") or "", refused["reason"])
        click.echo(f"refused: {one_line(refused['session'])}: {why}", err=True)
    for key in done.get("keysTaken", ()):
        click.echo(
            f"key {one_line(key)} routes to another session here, or was reset here later, and stays so", err=True
        )
    if done.get("kept"):
        click.echo(f"the files were kept: {done['kept']}", err=True)
