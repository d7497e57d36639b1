"""`holdfast db restore`."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.db.backup import DAMAGED, show_damaged
from holdfast.cli.errors import says_errors
from holdfast.cli.options import Location, location_options
from holdfast.cli.service import run
from holdfast.core.errors import InvalidInput
from holdfast.terminal.progress import ProgressLine


@click.command()
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@location_options
@says_errors
def restore(where: Location, as_json: bool, path: Path) -> None:
    """Make a store from a backup, where there is none; it is checked first, and gets an id of its own.

    Nothing is overwritten: to go back to a backup, move the store away, with the `-wal` and `-shm` beside it if a
    gateway was killed, and the folder `conversations` if there is one, and restore in its place.

    \b
    Exit codes
      0  there is a store, and everything in it is as it was written
      1  there is a store, and sessions that were damaged when the backup was made are damaged in it: they are named
      2  there is no store
    """
    if where.url is not None:
        raise InvalidInput(
            "a gateway cannot restore the store that it serves", hint="stop it, and use --data or --store"
        )
    from holdfast.core.store_file import StoreLock, lock_path
    from holdfast.store import NewFiles, sqlite_path

    with ExitStack() as stack:
        target = sqlite_path(where.store_url)
        if target is not None:
            new_files = NewFiles(lock_path(target))
            stack.enter_context(StoreLock(lock_path(target)))
            stack.enter_context(new_files.removed_unless_kept())
        done = run(_restore(where, path))
        if target is not None:
            new_files.kept = True
    if as_json:
        output.as_json(done)
    else:
        click.echo(f"restored to {done['store']}, store id {done['storeId']}")
        show_damaged(done["damaged"])
    sys.exit(DAMAGED if done["damaged"] else 0)


async def _restore(where: Location, path: Path) -> dict[str, Any]:
    from holdfast.gateway.folder import conversation_folder
    from holdfast.store.backup import damaged_sessions
    from holdfast.store.backup import restore as put_back

    with ProgressLine() as progress:

        def told(what: str, done: int, of: int) -> None:
            progress(f"{what} {done:,} of {of:,}" if of else f"{what} {done:,}")

        async with await put_back(path, where.store_url, folder=conversation_folder(where.data), told=told) as store:
            damaged = [
                {"tenant": each.tenant, "sessionId": each.session_id, "problem": each.problem}
                for each in damaged_sessions(path)
            ]
            about = {"store": store.engine.url, "storeId": store.store_id, "engine": store.engine.name}
            return {**about, "damaged": damaged}
