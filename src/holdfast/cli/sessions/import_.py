"""`holdfast sessions import`."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import CANNOT, says_errors
from holdfast.cli.service import GatewayClient, run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.terminal.progress import ProgressLine
from holdfast.terminal.text import one_line

CHUNK = 256 * 1024
COUNT_SECONDS = 0.2


@click.command("import")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--undo", "undoing", is_flag=True, help="PATH is what an import of files kept: take that import back.")
@somewhere
@says_errors
def import_(where: Where, as_json: bool, path: Path, undoing: bool) -> None:
    """Read sessions from an archive, or from a folder of plain files.

    An archive is checked as a whole before anything is written; what is here already is left alone. Of plain files
    each line becomes an event once, however often they are imported, and the files are kept in the data folder. A
    folder that cannot be imported is named, with its line, and the others arrive; the exit code is then 2.
    """
    if undoing:
        done = run(_undo(where, path))
    elif path.is_dir():
        done = run(_files(where, path))
    else:
        done = run(_archive(where, path))
    if as_json:
        output.as_json(done)
    else:
        _show(done)
    if done.get("refused"):
        sys.exit(CANNOT)


async def _archive(where: Where, path: Path) -> Any:
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


async def _files(where: Where, path: Path) -> Any:
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


async def _undo(where: Where, path: Path) -> Any:
    from holdfast.cli.gateway_sessions import GatewaySessions
    from holdfast.store.transfer import take_back

    async with serving(where, writes=True) as service:
        done = await take_back(GatewaySessions(service), path)
    return {"deleted": done.sessions, "events": done.events}


def _show(done: dict[str, Any]) -> None:
    for title, name in (("imported", "sessions"), ("here before", "thereBefore"), ("taken back", "deleted")):
        if done.get(name):
            click.echo(f"{title}: {output.number(len(done[name]), 'session')}")
    click.echo(output.number(done.get("events", 0), "event" if "deleted" in done else "new event"))
    for skipped in done.get("skipped", ()):
        click.echo(f"skipped: {one_line(skipped['file'])} line {skipped['line']}: {skipped['reason']}", err=True)
    for refused in done.get("refused", ()):
        click.echo(f"refused: {one_line(refused['session'])}: {one_line(refused['reason'])}", err=True)
    for key in done.get("keysTaken", ()):
        click.echo(
            f"key {one_line(key)} routes to another session here, or was reset here later, and stays so", err=True
        )
    if done.get("kept"):
        click.echo(f"the files were kept: {done['kept']}", err=True)
