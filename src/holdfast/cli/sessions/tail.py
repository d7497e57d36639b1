"""`holdfast sessions tail`."""

import contextlib
from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import asks
from holdfast.cli.service import GatewayClient, at, run, serving
from holdfast.cli.target_options import Where, somewhere


@click.command()
@click.argument("session_id", required=False)
@click.option(
    "-n", "limit", default=10, show_default=True, type=click.IntRange(0, 2000), help="How many old ones first."
)
@click.option("--no-follow", is_flag=True, help="Print what is there, and end.")
@somewhere
@asks
def tail(where: Where, as_json: bool, session_id: str | None, limit: int, no_follow: bool) -> None:
    """Print a session's newest events and then those that come, or those of all sessions, until Ctrl-C.

    With --json each event is a line of JSON, as the gateway's live feed has it.
    """
    with contextlib.suppress(BrokenPipeError):
        run(_tail(where, session_id, limit, follow=not no_follow, as_json=as_json))


async def _tail(where: Where, session_id: str | None, limit: int, *, follow: bool, as_json: bool) -> None:
    async with serving(where) as service:
        if session_id is not None:
            await _session(service, session_id, limit, follow=follow, as_json=as_json)
            return
        if not follow:
            raise click.UsageError("name a session, or follow all of them")
        async for message in service.follow():
            if message["type"] != "connected":
                _print(message, as_json=as_json, named=True)


async def _session(service: GatewayClient, session_id: str, limit: int, *, follow: bool, as_json: bool) -> None:
    """The feed from some events before the session's end: so old and new ones come once, and look the same."""
    found = await service.call("GET", at("/api/sessions/{}/resume", session_id), limit=1)
    head = found["session"]["headSeq"]
    after = max(head - limit, 0)
    if after == head and not follow:
        return
    async with contextlib.aclosing(service.follow(session=session_id, after=after)) as feed:
        async for message in feed:
            if message["type"] != "connected":
                _print(message, as_json=as_json)
                if not follow and message["seq"] >= head:
                    return


def _print(message: dict[str, Any], *, as_json: bool, named: bool = False) -> None:
    """A message of the feed as a line."""
    if as_json:
        output.as_json(message)
        return
    event = message["data"] if message["type"] == "action" else {**message, "details": message["data"]}
    click.echo(output.event_line(event, message["sessionId"] if named else None))
