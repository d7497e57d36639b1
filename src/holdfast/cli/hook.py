"""`holdfast hook`: its help, and what it does beside recording. Recording itself is `holdfast.hook.command`."""

import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli import output
from holdfast.cli.errors import CANNOT, says_errors
from holdfast.core.errors import NotFound
from holdfast.terminal.text import one_line

if TYPE_CHECKING:
    from holdfast.hook.entries import TranscriptPlace

FLUSH_SECONDS = 30.0
LOOK_SECONDS = 0.05


@click.command()
@click.option("--session", metavar="ID", help="The session.  [default: the payload's session_id, else SESSION_ID]")
@click.option(
    "--mask/--verbatim",
    "masks",
    default=True,
    show_default=True,
    help="Mask secrets in what is kept of a new session, or keep every byte.",
)
@click.option("--status", is_flag=True, help="Say what waits, and where; nothing is recorded.")
@click.option("--flush", is_flag=True, help="Wait until what waits is delivered; nothing is recorded.")
@click.option(
    "--plugin", is_flag=True, help="Print the folder of Claude Code's plugin, a marketplace for `claude plugin`."
)
@click.option("--courier", is_flag=True, hidden=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout, with --status or --flush.")
@says_errors
def hook(
    session: str | None, masks: bool, status: bool, flush: bool, plugin: bool, courier: bool, as_json: bool
) -> None:
    """Record one event, a JSON object on stdin, and return at once.

    For programs that can run a command: Claude Code does so at every prompt, tool call and end, with the plugin in
    integrations/claude_code. An event of another program is {"type": "deploy", "details": {…}}.

    The event is on this disk when the command ends, and is delivered in the background to the gateway that
    SESSION_SERVICE_URL and HOLDFAST_TOKEN name, in order and once, as soon as it is there. The exit code is always 0;
    what went wrong is in a file that --status names.
    """
    from holdfast.hook import inbox
    from holdfast.hook.command import run

    if courier:
        _carry()
    elif plugin:
        click.echo(str(_marketplace()))
    elif status or flush:
        folder = inbox.folder_of(dict(os.environ))
        done = _flushed(folder) if flush else True
        _show(folder, as_json=as_json)
        if not done:
            sys.exit(CANNOT)
    else:
        words = [] if session is None else ["--session", session]
        run([*words, "--mask" if masks else "--verbatim"])


def _marketplace() -> Path:
    """The folder that comes with the package."""
    found = (Path(__file__).parents[1] / "integrations").resolve()
    if not (found / ".claude-plugin").is_dir():
        raise NotFound("the plugin did not come with this package", hint="it is in integrations/ of the sources")
    return found


def _flushed(folder: Path) -> bool:
    """Whether all that waits was delivered in time."""
    from holdfast.hook import inbox
    from holdfast.hook.command import start_courier

    until = time.monotonic() + FLUSH_SECONDS
    while not inbox.is_empty(folder):
        if time.monotonic() > until:
            return False
        start_courier(folder)
        time.sleep(LOOK_SECONDS)
    return True


def _show(folder: Path, *, as_json: bool) -> None:
    from holdfast.client import segments
    from holdfast.client.refusals import FILE
    from holdfast.hook import inbox, journal

    refused, waiting = folder.parent / FILE, segments.measure(folder).lines if folder.is_dir() else 0
    found = {
        "folder": str(folder),
        "waiting": waiting,
        "courier": inbox.courier_of(folder) if folder.is_dir() else None,
        "refused": refused.read_bytes().count(b"\n") if refused.exists() else 0,
        "log": str(folder / journal.FILE),
    }
    if as_json:
        output.as_json(found)
        return
    click.echo(f"{output.number(waiting, 'event')} waiting, {found['refused']} refused")
    click.echo(f"folder: {one_line(str(folder))}")
    if (folder / journal.FILE).exists():
        click.echo(f"log: {one_line(str(found['log']))}")


def _carry() -> None:
    """Be the courier, unless another process is."""
    from holdfast.client.settings import DEFAULT_SPOOL_BYTES, DEFAULT_TIMEOUT, Settings
    from holdfast.core import TimeOrderedIds
    from holdfast.hook import inbox
    from holdfast.hook.courier import NAME, Courier
    from holdfast.hook.journal import note

    os.closerange(3, 256)  # whatever the program that runs the hooks has open is not ours to keep open
    folder = inbox.folder_of(dict(os.environ))
    os.chdir("/")
    try:
        settings = Settings.of(
            os.environ,
            TimeOrderedIds(),
            session_id=NAME,
            url=None,
            token=None,
            timeout=DEFAULT_TIMEOUT,
            spool=folder.parent,
            spool_bytes=DEFAULT_SPOOL_BYTES,
        )
        done = True
        while done and not inbox.is_empty(folder):
            with inbox.only_courier(folder) as only:
                if not only:
                    return
                done = Courier(settings, folder, partial(_keep, settings.url)).run()
    except Exception as error:
        note(folder, f"the courier failed: {type(error).__name__}: {error}")
        raise


def _keep(url: str, place: "TranscriptPlace") -> None:
    from holdfast.cli.hook_transcripts import keep_transcript

    keep_transcript(url, place)
