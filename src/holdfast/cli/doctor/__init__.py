"""`holdfast doctor`: what is right with a store, what is not, and what mends it."""

import sys
from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.options import Location, location_options
from holdfast.cli.service import run
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.store_file import sqlite_path
from holdfast.terminal.screen import styled
from holdfast.terminal.text import one_line

FAILED = 1
MODES = ("inspect", "dry-run", "import", "validate", "compact", "recover", "restore")
STYLES = {"ok": "green", "warning": "yellow", "failed": "red", "unknown": "dim"}


@click.command()
@click.option("--fix", is_flag=True, help="Do what mends a finding and can do no harm, and say what was done.")
@click.option(
    "--session-sqlite",
    "mode",
    type=click.Choice(MODES),
    help="The older layout, agents/AGENT/sessions in the data folder, and what the store has of it.",
)
@click.option("--agent", metavar="AGENT", help="With --session-sqlite: one agent's sessions only.")
@click.option("--all-agents", is_flag=True, help="With --session-sqlite: every agent's.  [default]")
@location_options
@says_errors
def doctor(where: Location, as_json: bool, fix: bool, mode: str | None, agent: str | None, all_agents: bool) -> None:
    """Examine a store: one line for each check, with its state, the reason, and what mends it.

    Nothing is changed without --fix, and no file beside the store is made or touched. A gateway may be at work
    meanwhile: then the checks that read much take a sample. With --session-sqlite, inspect, dry-run and validate only
    read as well; the others are refused while a gateway has the store.

    \b
    Exit codes
      0  nothing failed; warnings are said
      1  something failed; with --session-sqlite, an issue or a difference was found
      2  wrong options, there is no store, or a gateway has it
    """
    if where.url is not None:
        raise InvalidInput("doctor looks at the store itself", hint="use --data or --store, where the store is")
    if agent is not None and all_agents:
        raise InvalidInput("--agent and --all-agents exclude each other")
    if mode is None and (agent is not None or all_agents):
        raise InvalidInput("--agent and --all-agents are about --session-sqlite")
    path = sqlite_path(where.store_url)
    if mode is not None:
        if fix:
            raise InvalidInput("--fix is not about --session-sqlite")
        from holdfast.cli.doctor.session_report import show_report
        from holdfast.cli.doctor.session_sqlite import report_of

        report = run(report_of(where, mode, agent))
        output.as_json(report) if as_json else show_report(report)
        sys.exit(FAILED if report["failed"] else 0)
    if path is not None and not path.exists():
        raise NotFound(f"there is no store at {path}", hint="name the folder with --data", path=str(path))
    from holdfast.cli.doctor.examine import examine

    report = run(examine(where, fix=fix, said=None if as_json else show))
    if as_json:
        output.as_json(report)
    sys.exit(0 if report["ok"] else FAILED)


def show(finding: dict[str, Any]) -> None:
    """One finding, on one line."""
    state = styled(finding["state"].ljust(8), STYLES[finding["state"]])
    mend = f"  →  {one_line(finding['mend'])}" if finding["mend"] else ""
    click.echo(f"{state} {finding['check']:<12} {one_line(finding['reason'])}{mend}")
