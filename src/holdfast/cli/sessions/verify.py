"""`holdfast sessions verify`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.service import run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.core import HoldfastError
from holdfast.core.errors import Corrupt
from holdfast.core.problem import problem
from holdfast.terminal.progress import ProgressLine
from holdfast.terminal.text import one_line

WRONG = 1


@dataclass(slots=True)
class Report:
    """What a verification found: what the engine says of its files, then each session."""

    store: str
    engine: str = "not opened"
    store_id: str | None = None
    files: list[str] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)

    @property
    def bad(self) -> list[dict[str, Any]]:
        """The sessions that are not what was written."""
        return [found for found in self.sessions if not found["ok"]]

    @property
    def ok(self) -> bool:
        """Whether everything is as it was written."""
        return not self.files and not self.bad


@click.command()
@click.argument("session_ids", metavar="[SESSION_ID]...", nargs=-1)
@somewhere
@says_errors
def verify(where: Where, as_json: bool, session_ids: tuple[str, ...]) -> None:
    """Derive sessions again from their logs, and compare: all of them, or those that are named.

    Nothing is changed, and a gateway may go on writing meanwhile. The head hashes say what the logs are now: keep
    them elsewhere, and a log that was rewritten as a whole shows too.

    \b
    Exit codes
      0  everything is as it was written
      1  something is wrong; the first bad event is named
      2  wrong options, or the store cannot be read
    """
    report = run(_verify(where, session_ids))
    if as_json:
        output.as_json(_object(report))
    else:
        _show(report)
    sys.exit(0 if report.ok else WRONG)


async def _verify(where: Where, session_ids: Sequence[str]) -> Report:
    report = Report(where.store_url.rsplit("@", 1)[-1])
    try:
        async with serving(where) as service:
            status = await service.call("GET", "/api/status")
            report.store, report.store_id = status["store"], status["storeId"]
            report.engine = f"{status['engine']} {status['engineVersion']}"
            body = {"sessions": list(session_ids) or None}
            with ProgressLine() as progress:
                async for line in service.lines("POST", "/api/verify", body=body):
                    found = json.loads(line)
                    if "sessionId" in found:
                        report.sessions.append({"problem": None, "badSeq": None, **found})
                        progress(f"{output.number(len(report.sessions), 'session')} verified")
                    else:
                        report.files += found.get("files") or []
    except HoldfastError as error:
        if problem(error)["code"] != Corrupt.code:
            raise
        report.files.append(error.message)
    return report


def _object(report: Report) -> dict[str, Any]:
    return {
        "ok": report.ok,
        "store": report.store,
        "engine": report.engine,
        "storeId": report.store_id,
        "files": {"ok": not report.files, "problems": report.files},
        "verified": len(report.sessions),
        "bad": len(report.bad),
        "sessions": report.sessions,
    }


def _show(report: Report) -> None:
    click.echo(f"store    {one_line(report.store)}")
    click.echo(f"engine   {report.engine}")
    click.echo(f"files    {'ok' if not report.files else 'damaged'}")
    for text in report.files:
        click.echo(f"         {one_line(text)}")
    rows = [
        ["ok" if found["ok"] else "BAD", found["sessionId"], str(found["events"]), found["headHash"]]
        for found in report.sessions
    ]
    output.table(
        ("", "session", "events", "head hash"), rows, right=("events",), whole=("", "session", "events", "head hash")
    )
    for found in report.bad:
        place = "" if found["badSeq"] is None else f" at event {found['badSeq']}"
        click.echo(f"BAD  {one_line(found['sessionId'])}{place}: {one_line(found['problem'])}")
    click.echo(f"{output.number(len(report.sessions), 'session')} verified, {len(report.bad)} bad")
