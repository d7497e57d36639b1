"""`holdfast sessions fork`."""

from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.service import at, run, serving
from holdfast.cli.target_options import Where, somewhere


@click.command()
@click.argument("session_id")
@click.option("--at", type=click.IntRange(min=1), metavar="SEQ", help="Up to this event.  [default: all]")
@click.option("--checkpoint", metavar="ID", help="Up to this checkpoint.")
@click.option("--as", "new_id", metavar="ID", help="The new session's id.  [default: a new one]")
@click.option("--key", help="A new session key that is to route to it.")
@somewhere
@says_errors
def fork(
    where: Where,
    as_json: bool,
    session_id: str,
    at: int | None,
    checkpoint: str | None,
    new_id: str | None,
    key: str | None,
) -> None:
    """Make a session from another, with its log up to a point; the other one is not touched."""
    body = {"at": at, "checkpointId": checkpoint, "sessionId": new_id, "key": key}
    made = run(_fork(where, session_id, {name: value for name, value in body.items() if value is not None}))
    if as_json:
        output.as_json(made)
        return
    click.echo(f"forked {session_id} at event {made['forkedFrom']['seq']}:", err=True)
    click.echo(made["sessionId"])


async def _fork(where: Where, session_id: str, body: dict[str, Any]) -> Any:
    async with serving(where, writes=True) as service:
        return await service.call("POST", at("/api/sessions/{}/fork", session_id), body=body, slow=True)
