"""`holdfast db audit`."""

from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.service import run, serving
from holdfast.cli.target_options import Where, somewhere

COLUMNS = ("time", "caller", "action", "target", "status")


@click.command()
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@click.option("--cursor", help="Go on after the page before.")
@somewhere
@says_errors
def audit(where: Where, as_json: bool, limit: int, cursor: str | None) -> None:
    """Say what was done to the tenant's sessions and the store, and by whom, newest first.

    Deletions, exports, imports, retention, purges, holds, backups and tokens are written down. An entry without a
    status was begun and cut off.
    """
    page = run(_audit(where, limit=limit, cursor=cursor))
    if as_json:
        output.as_json(page)
        return
    output.table(COLUMNS, [_row(each) for each in page["entries"]], right=("status",), whole=("time",))
    if not page["entries"]:
        click.echo("nothing yet", err=True)
    if page["cursor"]:
        click.echo(f"more: --cursor {page['cursor']}", err=True)


async def _audit(where: Where, **query: Any) -> Any:
    async with serving(where) as service:
        return await service.call("GET", "/api/audit", **query)


def _row(entry: dict[str, Any]) -> list[str]:
    caller = entry["caller"] + (f" ({entry['tokenId']})" if entry["tokenId"] else "")
    status = "cut off" if entry["status"] is None else str(entry["status"])
    return [entry["timestamp"][:19], caller, entry["action"], entry["target"], status]
