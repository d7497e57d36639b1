"""`holdfast token list`."""

from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.service import run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.core import SystemClock

COLUMNS = ("token", "state", "tenant", "scopes", "name", "made")


@click.command(name="list")
@somewhere
@says_errors
def list_(where: Where, as_json: bool) -> None:
    """List all tokens there ever were, oldest first."""
    found = run(_list(where))
    if as_json:
        output.as_json(found)
        return
    now = SystemClock().now()
    rows = [_row(each, now) for each in found["tokens"]]
    output.table(COLUMNS, rows, whole=("token", "state"))
    if not rows:
        click.echo("no tokens", err=True)


async def _list(where: Where) -> Any:
    async with serving(where) as service:
        return await service.call("GET", "/api/tokens")


def _row(token: dict[str, Any], now: int) -> list[str]:
    scopes = " ".join(token["scopes"])
    return [
        token["tokenId"],
        _state(token),
        token["tenant"],
        scopes,
        token["name"],
        output.age(token["createdAt"], now),
    ]


def _state(token: dict[str, Any]) -> str:
    if token["revokedAt"]:
        return f"revoked {token['revokedAt'][:10]}"
    if not token["valid"]:
        return f"expired {token['expiresAt'][:10]}"
    return f"until {token['expiresAt'][:10]}" if token["expiresAt"] else "good"
