"""`holdfast sessions export`."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.options import Location, location_options
from holdfast.cli.service import run, serving
from holdfast.terminal.progress import ProgressLine

ARCHIVE = "archive"
FILES = "files"
SEED = "seed"
SOURCE = "source"


@click.command()
@click.argument("session_ids", metavar="[SESSION_ID]...", nargs=-1)
@click.option(
    "--output", "-o", "path", required=True, type=click.Path(path_type=Path), help="The new file, or the folder."
)
@click.option(
    "--layout",
    type=click.Choice([ARCHIVE, FILES, SEED, SOURCE]),
    default=ARCHIVE,
    show_default=True,
    help="One archive that can be imported byte for byte, or a folder of JSON files for each session; "
    "seed has responses inside actions.jsonl, for readers that know only that file; source gives imported sessions "
    "as the files that they came from.",
)
@click.option("--follow", is_flag=True, help="Go on: write what comes to the files until Ctrl-C.")
@click.option("--force", is_flag=True, help="Replace an archive, or files of a source, that are there.")
@location_options
@says_errors
def export(
    where: Location, as_json: bool, session_ids: tuple[str, ...], path: Path, layout: str, follow: bool, force: bool
) -> None:
    """Write sessions, all of them or those that are named, to one archive or to plain files.

    An archive of all sessions has the memories too. Attachments come with the sessions that name them.
    """
    if layout == ARCHIVE:
        if follow:
            raise click.UsageError("only --layout files and --layout seed can be followed")
        if path.exists() and not force:
            raise click.UsageError(f"{path} is there already: name a new file, or use --force")
        done = run(_archive(where, session_ids, path))
    elif layout == SOURCE:
        if follow:
            raise click.UsageError("only --layout files and --layout seed can be followed")
        done = run(_source_files(where, session_ids, path, force=force))
    else:
        done = run(_files(where, session_ids, path, follow=follow, one_file=layout == SEED))
    if as_json:
        output.as_json(done)
    else:
        click.echo(
            f"{output.number(done['sessions'], 'session')}, {output.number(done['events'], 'event')}: {done['path']}"
        )


async def _archive(where: Location, session_ids: tuple[str, ...], path: Path) -> dict[str, Any]:
    from holdfast.store.portable import ArchiveReader, replacing

    async with serving(where) as service:
        with ProgressLine() as progress, replacing(path) as file:
            done = 0
            async with service.stream("GET", "/api/export", session=list(session_ids)) as answer:
                async for chunk in answer.aiter_bytes():
                    file.write(chunk)
                    done += len(chunk)
                    progress(f"{output.size(done)} written")
    with ArchiveReader(path) as archive:
        totals = archive.totals
    return {"path": str(path), "bytes": done, "sessions": totals.sessions, "events": totals.events}


async def _source_files(where: Location, session_ids: tuple[str, ...], path: Path, *, force: bool) -> dict[str, Any]:
    from holdfast.cli.gateway_sessions import GatewaySessions
    from holdfast.transcripts import export_transcripts

    async with serving(where) as service:
        with ProgressLine() as progress:

            def tell(sessions: int, events: int) -> None:
                progress(f"{output.number(sessions, 'session')}, {output.number(events, 'line')} written")

            done = await export_transcripts(GatewaySessions(service), path, session_ids, tell, force=force)
    if done.masked:
        masked = output.number(len(done.masked), "session")
        click.echo(f"not byte for byte: the secrets of {masked} were masked when they came", err=True)
    if done.rewritten:
        rewritten = output.number(len(done.rewritten), "session")
        click.echo(f"not byte for byte: the files of {rewritten} were rewritten; all versions are there", err=True)
    if done.others:
        click.echo(f"left out: {output.number(len(done.others), 'session')} that came from no file of lines", err=True)
    return {
        "path": str(path),
        "sessions": done.sessions,
        "events": done.events,
        "masked": done.masked,
        "rewritten": done.rewritten,
        "others": done.others,
    }


async def _files(
    where: Location, session_ids: tuple[str, ...], path: Path, *, follow: bool, one_file: bool
) -> dict[str, Any]:
    from holdfast.cli.gateway_sessions import GatewaySessions
    from holdfast.store.transfer import export_folders

    async with serving(where) as service:
        sessions = GatewaySessions(service)
        with ProgressLine() as progress:

            def tell(sessions: int, events: int) -> None:
                progress(f"{output.number(sessions, 'session')}, {output.number(events, 'event')} written")

            if follow:
                async for events in sessions.follow(path, session_ids, tell, one_file=one_file):
                    progress(f"following: {output.number(events, 'event')} written", at_once=True)
            done = await export_folders(sessions, path, session_ids, tell, one_file=one_file)
    return {"path": str(path), **done._asdict()}
