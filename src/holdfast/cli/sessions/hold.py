"""`holdfast sessions hold`."""

from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.service import at, run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.terminal.text import one_line


@click.command()
@click.argument("session_id")
@click.option("--release", is_flag=True, help="Release it.")
@click.option("--reason", default="", help="Why; kept in the session's log.")
@somewhere
@says_errors
def hold(where: Where, as_json: bool, session_id: str, release: bool, reason: str) -> None:
    """Lay a legal hold on a session, or release it: a session under hold is neither deleted nor erased."""
    found = run(_hold(where, session_id, {"held": not release, "reason": reason}))
    if as_json:
        output.as_json(found)
    else:
        click.echo(f"{one_line(session_id)} is {'under legal hold' if found['held'] else 'free'}")


async def _hold(where: Where, session_id: str, body: dict[str, Any]) -> Any:
    async with serving(where, writes=True) as service:
        return await service.call("POST", at("/api/sessions/{}/hold", session_id), body=body)
