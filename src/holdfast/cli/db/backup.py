"""`holdfast db backup`."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli import show
from holdfast.cli.errors import says_errors
from holdfast.cli.service import run, serving
from holdfast.cli.where import Where, somewhere


@click.command()
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
@somewhere
@says_errors
def backup(where: Where, as_json: bool, path: Path) -> None:
    """Copy the whole store, all tenants, to a new file while it is in use, and check the copy.

    A backup of a SQLite store is a SQLite file; one of a PostgreSQL store is an archive of its tables. The file's
    own folder is made if need be, but none above that.
    """
    done = run(_backup(where, path.absolute()))
    if as_json:
        show.as_json(done)
    else:
        click.echo(f"{show.number(done['sessions'], 'session')}, {show.size(done['bytes'])}, checked: {done['path']}")


async def _backup(where: Where, path: Path) -> Any:
    async with serving(where) as service:
        with show.Progress() as progress:
            progress("copying and checking")
            return await service.call("POST", "/api/backup", body={"path": str(path)}, slow=True)
