"""`holdfast sessions ls`."""

from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.service import run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.core import SystemClock

COLUMNS = ("session", "status", "events", "size", "changed", "user", "tags")


@click.command()
@click.option("--user", help="Only this user's.")
@click.option("--tag", help="Only those with this tag.")
@click.option("--status", help="Only those with this status: active, completed, failed, …")
@click.option("--from", "began_from", metavar="TIME", help="Only those that began at this time or later (ISO 8601).")
@click.option("--to", "began_to", metavar="TIME", help="Only those that began before this time.")
@click.option("--words", metavar="QUERY", help="Only those in which these words are found.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 500), help="How many.")
@click.option("--cursor", help="Go on after the page before.")
@somewhere
@says_errors
def ls(where: Where, as_json: bool, limit: int, cursor: str | None, **chosen: str | None) -> None:
    """List sessions, newest first."""
    page = run(_list(where, limit=limit, cursor=cursor, **chosen))
    if as_json:
        output.as_json(page)
        return
    now = SystemClock().now()
    rows = [_row(session, now) for session in page["sessions"]]
    output.table(COLUMNS, rows, right=("events", "size"), whole=("session",))
    if not rows and not page["cursor"]:
        click.echo("no sessions", err=True)
    if page["cursor"]:
        click.echo(f"more: --cursor {page['cursor']}", err=True)


async def _list(where: Where, *, words: str | None, began_from: str | None, began_to: str | None, **query: Any) -> Any:
    async with serving(where, writes=words is not None) as service:
        return await service.call("GET", "/api/sessions", q=words, from_=began_from, to=began_to, **query)


def _row(session: dict[str, Any], now: int) -> list[str]:
    return [
        session["sessionId"],
        session["status"] + (" (held)" if session["held"] else ""),
        f"{session['headSeq']:,}",
        output.size(session["sizeBytes"]),
        output.age(session["updatedAt"], now),
        session["userId"] or "",
        " ".join(session["tags"]),
    ]
