"""`holdfast sessions reset`."""

from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.service import at, run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.terminal.text import one_line


@click.command()
@click.argument("session_id")
@click.option("--as", "new_id", metavar="ID", help="The new session's id.  [default: a new one]")
@somewhere
@says_errors
def reset(where: Where, as_json: bool, session_id: str, new_id: str | None) -> None:
    """Let a new, empty session take another's place on its keys; the old one stays, and each names the other."""
    made = run(_reset(where, session_id, {"sessionId": new_id} if new_id else {}))
    if as_json:
        output.as_json(made)
        return
    moved = one_line(", ".join(made["keys"])) or "none: the session had no key"
    click.echo(f"keys that moved: {moved}", err=True)
    click.echo(made["sessionId"])


async def _reset(where: Where, session_id: str, body: dict[str, Any]) -> Any:
    async with serving(where, writes=True) as service:
        return await service.call("POST", at("/api/sessions/{}/reset", session_id), body=body)
