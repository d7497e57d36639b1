"""`holdfast sessions rm`."""

import sys
from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.asking import confirm
from holdfast.cli.errors import says_errors
from holdfast.cli.option_types import AGE, SIZE
from holdfast.cli.service import GatewayClient, at, run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.core import HoldfastError, SystemClock
from holdfast.core.problem import problem
from holdfast.terminal.progress import ProgressLine
from holdfast.terminal.text import one_line

FAILED = 1
WOULD = "would be deleted"
DONE = "deleted, archived first"


@click.command()
@click.argument("session_ids", metavar="[SESSION_ID]...", nargs=-1)
@click.option("--older-than", type=AGE, help="Those with no event for so long: 30d, 12h, …")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="All but the N that changed last.")
@click.option("--max-size", type=SIZE, help="The oldest, until the rest is no larger: 10GB, …")
@click.option("--dry-run", is_flag=True, help="Only say which.")
@click.option("--reason", default="", help="Why; kept in the archive.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@somewhere
@says_errors
def rm(
    where: Where,
    as_json: bool,
    session_ids: tuple[str, ...],
    older_than: int | None,
    keep: int | None,
    max_size: int | None,
    dry_run: bool,
    reason: str,
    yes: bool,
) -> None:
    """Delete sessions: those that are named, or those over a limit of age, number or size.

    Their logs are archived first, and their ids are never used again. A session under legal hold stays.
    """
    limits = {"maxAgeMs": older_than, "maxSessions": keep, "maxBytes": max_size}
    limited = any(value is not None for value in limits.values())
    if bool(session_ids) == limited:
        raise click.UsageError("name sessions, or give a limit: --older-than, --keep or --max-size")
    if limited:
        done = run(_retain(where, limits, dry_run=dry_run, ask=not yes, as_json=as_json))
    else:
        done = run(_named(where, session_ids, reason, dry_run=dry_run, ask=not yes, as_json=as_json))
    sys.exit(0 if done else FAILED)


async def _retain(where: Where, limits: dict[str, int | None], *, dry_run: bool, ask: bool, as_json: bool) -> bool:
    async with serving(where, writes=True) as service:
        plan = await service.call("POST", "/api/retention", body={**limits, "dryRun": True}, slow=True)
        if not dry_run and plan["doomed"]:
            confirm(_question(len(plan["doomed"])), ask=ask)
            with ProgressLine() as progress:
                progress(f"deleting {output.number(len(plan['doomed']), 'session')}")
                plan = await service.call("POST", "/api/retention", body={**limits, "dryRun": False}, slow=True)
    if as_json:
        output.as_json(plan)
        return True
    now = SystemClock().now()
    gone = [each for each in plan["doomed"] if dry_run or each["sessionId"] in plan["deleted"]]
    rows = [[d["sessionId"], d["reason"], output.age(d["updatedAt"], now), output.size(d["sizeBytes"])] for d in gone]
    output.table(("session", "over", "changed", "size"), rows, right=("size",), whole=("session",))
    for held in plan["held"]:
        click.echo(f"{one_line(held)} is under legal hold and stays", err=True)
    click.echo(f"{output.number(len(gone), 'session')} {WOULD if dry_run else DONE}", err=True)
    return True


async def _named(
    where: Where, session_ids: tuple[str, ...], reason: str, *, dry_run: bool, ask: bool, as_json: bool
) -> bool:
    done: list[dict[str, Any]] = []
    failed: list[HoldfastError] = []
    async with serving(where, writes=True) as service:
        found = [await service.call("GET", at("/api/sessions/{}/resume", name), limit=1) for name in session_ids]
        if not dry_run:
            confirm(_question(len(session_ids)), ask=ask)
            with ProgressLine() as progress:
                for session_id in session_ids:
                    progress(f"deleting {session_id}")
                    await _delete(service, session_id, reason, done, failed)
    sessions = [each["session"] for each in found]
    if as_json:
        doomed = [{"sessionId": each["sessionId"], "held": each["held"]} for each in sessions]
        output.as_json({"doomed": doomed, "deleted": done, "failed": [problem(error) for error in failed]})
    elif dry_run:
        for each in sessions:
            click.echo(f"{one_line(each['sessionId'])}: {'is under legal hold and stays' if each['held'] else WOULD}")
    for gone in done if not as_json else ():
        click.echo(f"{one_line(gone['sessionId'])}: {output.number(gone['events'], 'event')} archived")
    for error in failed if not as_json else ():
        click.echo(f"error: {one_line(error.message)}", err=True)
    return not failed


async def _delete(
    service: GatewayClient, session_id: str, reason: str, done: list[dict[str, Any]], failed: list[HoldfastError]
) -> None:
    try:
        done.append(await service.call("DELETE", at("/api/sessions/{}", session_id), slow=True, reason=reason or None))
    except HoldfastError as error:
        failed.append(error)


def _question(count: int) -> str:
    return f"Delete {output.number(count, 'session')}? They are archived, and their ids are never used again"
