"""`holdfast sessions tag`."""

from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.service import at, run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.terminal.text import one_line


@click.command()
@click.argument("session_id")
@click.argument("tags", nargs=-1)
@click.option("--remove", "-r", multiple=True, metavar="TAG", help="A tag to remove; can be given several times.")
@somewhere
@says_errors
def tag(where: Where, as_json: bool, session_id: str, tags: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Add tags to a session, and remove some."""
    if not tags and not remove:
        raise click.UsageError("there is no tag to add or remove")
    body = {"add": list(tags), "remove": list(remove)}
    found = run(_tag(where, session_id, body))
    if as_json:
        output.as_json(found)
    else:
        click.echo(" ".join(one_line(each) for each in found["tags"]))


async def _tag(where: Where, session_id: str, body: dict[str, Any]) -> Any:
    async with serving(where, writes=True) as service:
        return await service.call("POST", at("/api/sessions/{}/tags", session_id), body=body)
