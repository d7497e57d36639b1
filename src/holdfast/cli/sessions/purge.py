"""`holdfast sessions purge`."""

from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.asking import confirm
from holdfast.cli.errors import says_errors
from holdfast.cli.option_types import AGE
from holdfast.cli.service import run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.core import SystemClock
from holdfast.terminal.progress import ProgressLine


@click.command()
@click.argument("session_ids", metavar="[SESSION_ID]...", nargs=-1)
@click.option("--older-than", type=AGE, help="All that were deleted so long ago: 30d, 12h, …")
@click.option("--dry-run", is_flag=True, help="Only say which.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@somewhere
@says_errors
def purge(
    where: Where, as_json: bool, session_ids: tuple[str, ...], older_than: int | None, dry_run: bool, yes: bool
) -> None:
    """Remove the archives of deleted sessions for good: this is what makes room.

    Their ids stay taken. Nothing brings a purged session back but a backup.
    """
    if bool(session_ids) == (older_than is not None):
        raise click.UsageError("name deleted sessions, or say how long ago they were deleted: --older-than")
    order = {"sessions": list(session_ids) or None, "olderThanMs": older_than}
    found = run(_purge(where, order, dry_run=dry_run, ask=not yes))
    if as_json:
        output.as_json(found)
        return
    now = SystemClock().now()
    rows = [
        [each["sessionId"], f"{each['events']:,}", output.size(each["sizeBytes"]), output.age(each["deletedAt"], now)]
        for each in found["purged"]
    ]
    output.table(("session", "events", "size", "deleted"), rows, right=("events", "size"), whole=("session",))
    click.echo(f"{output.number(len(rows), 'archive')} {'would be removed' if dry_run else 'removed'}", err=True)


async def _purge(where: Where, order: dict[str, Any], *, dry_run: bool, ask: bool) -> Any:
    async with serving(where, writes=True) as service:
        plan = await service.call("POST", "/api/archives/purge", body={**order, "dryRun": True}, slow=True)
        if dry_run or not plan["purged"]:
            return plan
        confirm(f"Remove {output.number(len(plan['purged']), 'archive')} for good?", ask=ask)
        with ProgressLine() as progress:
            progress(f"removing {output.number(len(plan['purged']), 'archive')}")
            return await service.call("POST", "/api/archives/purge", body={**order, "dryRun": False}, slow=True)
