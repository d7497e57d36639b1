"""`holdfast db migrate`."""

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.service import run, serving
from holdfast.cli.target_options import Where, somewhere


@click.command()
@somewhere
@says_errors
def migrate(where: Where, as_json: bool) -> None:
    """Bring the store's schema up to date; a gateway does so by itself when it starts."""
    schema, gateway = run(_migrate(where))
    if as_json:
        output.as_json({"schema": schema})
        return
    click.echo(f"the store has schema {schema}")
    if gateway is not None:
        click.echo(f"nothing was to do: the gateway at {gateway} did it when it started", err=True)


async def _migrate(where: Where) -> tuple[int, str | None]:
    async with serving(where, writes=True) as service:
        found = await service.call("GET", "/api/status")
        return int(found["schema"]), service.gateway
