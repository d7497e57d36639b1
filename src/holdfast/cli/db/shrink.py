"""`holdfast db shrink`."""

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.options import Location, location_options
from holdfast.cli.service import run
from holdfast.core.errors import InvalidInput, NotFound


@click.command()
@location_options
@says_errors
def shrink(where: Location, as_json: bool) -> None:
    """Write a SQLite store's file anew, without what is free in it; no gateway may run on it.

    Needed once, for a file that an earlier version made: from then on its gateway gives back by itself what
    deletions leave. The disk needs room for both files meanwhile.
    """
    from holdfast.core.store_file import StoreLock, lock_path
    from holdfast.store import shrink_store, sqlite_path

    path = None if where.url is not None else sqlite_path(where.store_url)
    if path is None:
        raise InvalidInput("only the file of a SQLite store can be written anew", hint="use --data or --store")
    if not path.is_file():
        raise NotFound(f"there is no store at {path}")
    with StoreLock(lock_path(path)):
        before, after = run(shrink_store(where.store_url))
    if as_json:
        output.as_json({"sizeBefore": before, "size": after})
    else:
        click.echo(f"{path}: {output.size(before)}, now {output.size(after)}")
