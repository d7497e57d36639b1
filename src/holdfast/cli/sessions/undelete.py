"""`holdfast sessions undelete`."""

from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.options import Location, location_options
from holdfast.cli.service import at, run, serving
from holdfast.terminal.progress import ProgressLine
from holdfast.terminal.text import one_line


@click.command()
@click.argument("session_id")
@location_options
@says_errors
def undelete(where: Location, as_json: bool, session_id: str) -> None:
    """Bring a deleted session back: the same id, events, hashes, state and goals.

    It works until the archive is purged. Keys that were used again since stay where they lead now.
    """
    found = run(_undelete(where, session_id))
    if as_json:
        output.as_json(found)
        return
    for key in found["keysTaken"]:
        click.echo(f"the key {one_line(key)} was used again meanwhile, and stays where it is", err=True)
    for what in found["notRestored"]:
        click.echo(f"not restored: {one_line(what)}", err=True)
    click.echo(f"{one_line(session_id)}: {output.number(found['events'], 'event')}, {found['headHash']}")


async def _undelete(where: Location, session_id: str) -> Any:
    async with serving(where, writes=True) as service:
        with ProgressLine() as progress:
            progress(f"undeleting {session_id}")
            return await service.call("POST", at("/api/archives/{}/restore", session_id), slow=True)
