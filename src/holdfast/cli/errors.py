"""What a command says when it cannot do its work: the error, the hint, exit code 2."""

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from holdfast.cli.columns import plain
from holdfast.cli.show import as_json
from holdfast.core import HoldfastError
from holdfast.core.problem import problem

CANNOT = 2

Command = TypeVar("Command", bound=Callable[..., Any])


class Refused(HoldfastError):
    """A gateway's own refusal, as it came."""

    def __init__(self, refusal: dict[str, Any]) -> None:
        super().__init__(str(refusal.get("detail", "the gateway refused")), hint=refusal.get("hint"))
        self.problem = refusal

    @property
    def is_missing(self) -> bool:
        """Whether there is no such thing, or no longer."""
        return problem_of(self)["status"] in {404, 410}


def problem_of(error: HoldfastError) -> dict[str, Any]:
    """The problem object of an error, also of one that came from a gateway."""
    return error.problem if isinstance(error, Refused) else problem(error)


def says_errors(command: Command) -> Command:
    """End with an error's message and hint on stderr, and with `--json` its problem object on stdout."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except HoldfastError as error:
            if options.get("as_json"):
                as_json(problem_of(error))
            click.echo(f"error: {plain(error.message)}", err=True)
            if error.hint:
                click.echo(f"hint: {plain(error.hint)}", err=True)
            sys.exit(CANNOT)

    return run  # type: ignore[return-value]
