"""How `holdfast prove` and `holdfast prove store` end: with an exit code that says what was found."""

import errno
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

import click

from holdfast.cli.streams import steady_streams, unprinted
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.terminal.text import one_line

FAULT = 2
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}


def end_with(proof: Callable[[], int]) -> NoReturn:
    """Run a proof and end with its exit code; with 2 where it could not be run at all."""
    steady_streams()
    try:
        code = proof()
    except HoldfastError as error:
        click.echo(f"error: {one_line(error.message)}", err=True)
        if error.hint:
            click.echo(f"hint: {one_line(error.hint)}", err=True)
        code = FAULT
    except KeyboardInterrupt:
        # Interrupted before the run began; from then on the run itself sees to it.
        code = FAULT
    except Exception as error:
        # Python's own exit code for this would be 1, which says "disproven".
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            click.echo(f"error: the evidence could not be written: {error.strerror}", err=True)
            click.echo("hint: see --artifacts DIR", err=True)
        else:
            traceback.print_exc()
            click.echo("error: this is a defect of holdfast prove; nothing was said of the target", err=True)
        code = FAULT
    if why := unprinted():
        click.echo(f"error: stdout could not be written: {why}", err=True)
        code = code or FAULT
    sys.exit(code)


def names(only: str | None, *, what: str, listing: str) -> tuple[str, ...]:
    """The names in a list with commas; none where the option was not given."""
    if only is None:
        return ()
    found = tuple(name.strip() for name in only.split(",") if name.strip())
    if not found:
        raise InvalidInput(f"--only names no {what}", hint=f"see `{listing}`")
    return found
