"""`holdfast sessions`: look after sessions."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.errors import says_errors
from holdfast.core import strict_json
from holdfast.core.errors import Corrupt
from holdfast.gateway.folder import sqlite_url

if TYPE_CHECKING:
    from holdfast.store import Store
    from holdfast.store.verify import Verified

WRONG = 1
SHOW_EVERY = 10


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification found: what the engine says of its files, then each session."""

    store: str
    engine: str
    store_id: str | None
    files: list[str]
    sessions: "list[Verified]"

    @property
    def bad(self) -> "list[Verified]":
        """The sessions that are not what was written."""
        return [found for found in self.sessions if found.problem is not None]

    @property
    def ok(self) -> bool:
        """Whether everything is as it was written."""
        return not self.files and not self.bad


@click.group()
def sessions() -> None:
    """Look after sessions."""


@sessions.command()
@click.argument("session_ids", metavar="[SESSION_ID]...", nargs=-1)
@click.option(
    "--data",
    default=Path("holdfast-data"),
    show_default="./holdfast-data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="HOLDFAST_DATA",
    help="Folder of the gateway whose store to verify.",
)
@click.option("--store", metavar="URL", envvar="HOLDFAST_STORE", help="Store to verify, instead of the folder's.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
@says_errors
def verify(session_ids: tuple[str, ...], data: Path, store: str | None, as_json: bool) -> None:
    """Derive sessions again from their logs, and compare: all of them, or those that are named.

    Nothing is changed, and a gateway may go on writing meanwhile. The head hashes say what the logs are now: keep
    them elsewhere, and a log that was rewritten as a whole shows too.

    \b
    Exit codes
      0  everything is as it was written
      1  something is wrong; the first bad event is named
      2  wrong options, or the store cannot be read
    """
    report = asyncio.run(_verify(store or sqlite_url(data), session_ids))
    if as_json:
        click.echo(strict_json.dump(_object(report)))
    else:
        _show(report)
    sys.exit(0 if report.ok else WRONG)


async def _verify(url: str, session_ids: Sequence[str]) -> Report:
    from holdfast.store import open_store

    try:
        store = await open_store(url, read_only=True)
    except Corrupt as error:
        return Report(url.rsplit("@", 1)[-1], "not opened", None, [error.message], [])
    async with store:
        engine = store.engine
        files = await store.verification.files()
        found: list[Verified] = []
        try:
            async for session_id in _chosen(store, session_ids):
                found.append(await _verified(store, session_id))
                _progress(len(found))
        except Corrupt as error:
            files.append(f"the list of sessions cannot be read: {error.message}")
        _progress(0)
        return Report(engine.url, f"{engine.name} {engine.version}", store.store_id, files, found)


async def _verified(store: "Store", session_id: str) -> "Verified":
    from holdfast.store.verify import Verified

    try:
        return await store.verification.session(session_id)
    except Corrupt as error:
        return Verified(session_id, 0, "", error.message)


async def _chosen(store: "Store", session_ids: Sequence[str]) -> AsyncIterator[str]:
    for session_id in session_ids:
        yield session_id
    page = [] if session_ids else await store.verification.sessions()
    while page:
        for session_id in page:
            yield session_id
        page = await store.verification.sessions(after=page[-1])


def _progress(done: int) -> None:
    """Tell a person how far it is; 0 clears the line."""
    if sys.stderr.isatty() and done % SHOW_EVERY == 0:
        click.echo(f"\r{f'{done} sessions verified' if done else '':<40}\r", err=True, nl=False)


def _object(report: Report) -> dict[str, Any]:
    return {
        "ok": report.ok,
        "store": report.store,
        "engine": report.engine,
        "storeId": report.store_id,
        "files": {"ok": not report.files, "problems": report.files},
        "verified": len(report.sessions),
        "bad": len(report.bad),
        "sessions": [
            {
                "sessionId": found.session_id,
                "ok": found.problem is None,
                "events": found.events,
                "headHash": found.head_hash,
                "problem": found.problem,
                "badSeq": found.bad_seq,
            }
            for found in report.sessions
        ],
    }


def _show(report: Report) -> None:
    click.echo(f"store    {report.store}")
    click.echo(f"engine   {report.engine}")
    click.echo(f"files    {'ok' if not report.files else 'damaged'}")
    for text in report.files:
        click.echo(f"         {text}")
    if sys.stdout.isatty() and find_spec("rich"):
        _table(report.sessions)
    else:
        for found in report.sessions:
            result = "ok " if found.problem is None else "BAD"
            click.echo(f"{result}  {found.session_id}  {found.events} events")
            click.echo(f"     {found.head_hash}")
    for found in report.bad:
        where = "" if found.bad_seq is None else f" at event {found.bad_seq}"
        click.echo(f"BAD  {found.session_id}{where}: {found.problem}")
    click.echo(f"{len(report.sessions)} sessions verified, {len(report.bad)} bad")


def _table(rows: "Sequence[Verified]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    table.add_column("session", overflow="fold", ratio=2)
    table.add_column("events", justify="right", no_wrap=True)
    table.add_column("head hash", overflow="fold", min_width=16, ratio=2)
    for found in rows:
        good = found.problem is None
        result = "[green]ok[/]" if good else "[bold red]BAD[/]"
        table.add_row(result, found.session_id, str(found.events), found.head_hash)
    Console().print(table)
