"""`holdfast token create`."""

from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.option_types import AGE
from holdfast.cli.service import run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.store.operators import SCOPES


@click.command()
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(SCOPES),
    help="What it may do; can be given several times.",
)
@click.option("--expires", "lasts_ms", type=AGE, help="How long it is good, as 90d or 12h.  [default: for ever]")
@somewhere
@says_errors
def create(where: Where, as_json: bool, name: str, scopes: tuple[str, ...], lasts_ms: int | None) -> None:
    """Make a token for the tenant (--tenant), and print it: this is the only time that it can be seen.

    NAME tells later whose it is.
    """
    body = {"name": name, "scopes": list(scopes), "tenant": where.tenant, "lastsMs": lasts_ms}
    made = run(_create(where, body))
    if as_json:
        output.as_json(made)
        return
    described = made["described"]
    click.echo(made["token"])
    ends = f"until {described['expiresAt']}" if described["expiresAt"] else "until it is revoked"
    click.echo(
        f"token {described['tokenId']} of tenant {described['tenant']}: {', '.join(described['scopes'])}, {ends}",
        err=True,
    )


async def _create(where: Where, body: dict[str, Any]) -> Any:
    async with serving(where, writes=True, creates=True) as service:
        return await service.call("POST", "/api/tokens", body=body)
