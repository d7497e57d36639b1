"""`holdfast db backup`."""

import sys
from pathlib import Path
from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.options import Location, location_options
from holdfast.cli.service import run, serving
from holdfast.terminal.progress import ProgressLine
from holdfast.terminal.text import one_line

DAMAGED = 1


@click.command()
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
@location_options
@says_errors
def backup(where: Location, as_json: bool, path: Path) -> None:
    """Copy the whole store, all tenants, to a new file while it is in use, and check the copy.

    A backup of a SQLite store is a SQLite file; one of a PostgreSQL store is an archive of its tables. The agent's
    conversations in files (serve --agent-storage file) are in it. The file's own folder is made if need be, but none
    above that.

    \b
    Exit codes
      0  there is a backup, and everything in it is as it was written
      1  there is a backup, and sessions that are damaged in the store are damaged in it: they are named
      2  there is no backup
    """
    done = run(_backup(where, path.absolute()))
    if as_json:
        output.as_json(done)
    else:
        click.echo(
            f"{output.number(done['sessions'], 'session')}{_files(done['files'])}, {output.size(done['bytes'])}, "
            f"checked: {done['path']}"
        )
        show_damaged(done["damaged"])
    sys.exit(DAMAGED if done["damaged"] else 0)


def _files(count: int) -> str:
    return f" and {output.number(count, 'file')} of conversations" if count else ""


def show_damaged(sessions: list[dict[str, Any]]) -> None:
    """Name the sessions of a backup that were damaged when it was made."""
    for each in sessions:
        click.echo(f"DAMAGED  {one_line(each['tenant'])}/{one_line(each['sessionId'])}: {one_line(each['problem'])}")


async def _backup(where: Location, path: Path) -> Any:
    async with serving(where) as service:
        with ProgressLine() as progress:
            progress("copying and checking")
            return await service.call("POST", "/api/backup", body={"path": str(path)}, slow=True)
