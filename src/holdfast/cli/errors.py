"""What a command says when it cannot do its work: the error, the hint, exit code 2.

A file that cannot be read or written is such an error, wherever it shows; what else is raised is a defect of ours.
"""

import errno
import functools
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

import click

from holdfast.cli.output import as_json
from holdfast.core import HoldfastError
from holdfast.core.problem import problem
from holdfast.terminal.text import one_line

NOT_THERE = 1
CANNOT = 2

Command = TypeVar("Command", bound=Callable[..., Any])


class GatewayRefusal(HoldfastError):
    """A gateway's own refusal, as it came."""

    def __init__(self, refusal: dict[str, Any]) -> None:
        super().__init__(str(refusal.get("detail", "the gateway refused")), hint=refusal.get("hint"))
        self.problem: dict[str, Any] = refusal

    @property
    def is_missing(self) -> bool:
        """Whether there is no such thing, or no longer."""
        return self.problem["status"] in {404, 410}


class UnusableFile(HoldfastError):
    """A file, a folder or a stream of the system's cannot be read or written."""

    code = "unusable_file"
    status = 400
    hint = "see whether it is there, whether you may read or write it, and whether its disk has room"


def says_errors(command: Command) -> Command:
    """End with an error's message and hint on stderr, and with `--json` its problem object on stdout."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except HoldfastError as error:
            _end(error, in_json=bool(options.get("as_json")))
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # nobody reads any more, which click takes for an end
            _end(unusable(error), in_json=bool(options.get("as_json")))

    return run  # type: ignore[return-value]


def asks(command: Command) -> Command:
    """The same for a command that asks for one thing: exit code 1 if there is no such thing, or no longer."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except GatewayRefusal as refused:
            if not refused.is_missing:
                raise
            refused.hint = refused.hint or "`holdfast sessions ls` lists the sessions that there are"
            _end(refused, in_json=bool(options.get("as_json")), code=NOT_THERE)

    return says_errors(run)  # type: ignore[return-value]


def unusable(error: OSError) -> UnusableFile:
    """The system's refusal in our words."""
    name = "" if error.filename is None else f" {error.filename}"
    return UnusableFile(f"cannot use{name}: {error.strerror or error}")


def say(error: HoldfastError) -> None:
    """The error and a hint on stderr."""
    click.echo(f"error: {one_line(error.message)}", err=True)
    context = click.get_current_context(silent=True)
    general = f"see `{context.command_path} --help`" if context else "see `holdfast --help`"
    click.echo(f"hint: {one_line(error.hint or general)}", err=True)


def _end(error: HoldfastError, *, in_json: bool, code: int = CANNOT) -> NoReturn:
    say(error)
    if in_json:
        with suppress(OSError):  # it may be stdout that cannot be written
            as_json(problem(error))
    sys.exit(code)
