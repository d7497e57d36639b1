"""Asking before something is done that cannot be taken back."""

import signal
import sys

import click

from holdfast.core.errors import InvalidInput


def confirm(question: str, *, ask: bool) -> None:
    """Ask, unless it is not to be asked: Abort if the answer is no, InvalidInput if nobody is there."""
    if not ask:
        return
    if not sys.stdin.isatty():
        raise InvalidInput("nobody is here to be asked, so nothing was deleted", hint="use --yes, or --dry-run to see")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # the event loop's would wait for an answer
    try:
        click.confirm(question, abort=True, err=True)
    finally:
        signal.signal(signal.SIGINT, before)
