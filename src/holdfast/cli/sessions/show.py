"""`holdfast sessions show`."""

from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import asks
from holdfast.cli.service import at, run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.terminal.text import one_line


@click.command()
@click.argument("session_id")
@click.option("-n", "limit", default=10, show_default=True, type=click.IntRange(1, 2000), help="How many events.")
@somewhere
@asks
def show(where: Where, as_json: bool, session_id: str, limit: int) -> None:
    """Show one session: what it is, its state, what is open, and its newest events."""
    found = run(_resume(where, session_id, limit))
    if as_json:
        output.as_json(found)
        return
    _session(found["session"])
    if found["snapshot"]:
        snapshot = found["snapshot"]
        output.heading(f"{snapshot['kind']} of events {snapshot['firstSeq']} to {snapshot['lastSeq']}")
        click.echo(one_line(output.compact(snapshot["document"], 1000)))
    output.heading(f"state, version {found['state'].get('version', 0)}")
    state = {
        name: value for name, value in found["state"].items() if name not in {"sessionId", "version", "goals", "agents"}
    }
    click.echo(one_line(output.compact(state, 2000)))
    for title, kind, rows in (
        (
            "open goals",
            "goals",
            [(goal["goalId"], f"{goal['status']}: {goal['description']}") for goal in found["goals"]],
        ),
        (
            "sub-agents at work",
            "agents",
            [(each["agentId"], f"{each['type']}: {output.compact(each['task'])}") for each in found["agents"]],
        ),
        (
            "unresolved effects",
            "effects",
            [(each["callId"], f"{each['tool']}, started {each['startedAt']}") for each in found["effects"]],
        ),
    ):
        if rows:
            omitted = found.get(f"{kind}Omitted", 0)
            output.heading(f"{title}, and {omitted:,} older" if omitted else title)
            output.pairs(rows)
    output.heading(f"newest {len(found['events'])} of {found['session']['headSeq']} events")
    for event in found["events"]:
        click.echo(output.event_line(event))


async def _resume(where: Where, session_id: str, limit: int) -> Any:
    async with serving(where) as service:
        return await service.call("GET", at("/api/sessions/{}/resume", session_id), limit=limit)


def _session(session: dict[str, Any]) -> None:
    rows = [
        ("session", session["sessionId"]),
        ("status", session["status"] + (" (under legal hold)" if session["held"] else "")),
        ("agent", session["agent"]),
        ("user", session["userId"] or "-"),
        ("created", session["createdAt"]),
        ("changed", session["updatedAt"]),
        ("events", f"{session['headSeq']:,} ({output.size(session['sizeBytes'])})"),
        ("head", session["headHash"]),
        ("tags", " ".join(session["tags"]) or "-"),
        ("metadata", output.compact(session["metadata"], 1000)),
    ]
    rows += [(name, output.compact(value)) for name, value in session["lineage"].items()]
    output.pairs(rows)
