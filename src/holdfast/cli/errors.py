"""What a command says when it cannot do its work: the error, the hint, exit code 2."""

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from holdfast.core import HoldfastError, strict_json
from holdfast.gateway.problem import problem

CANNOT = 2

Command = TypeVar("Command", bound=Callable[..., Any])


def says_errors(command: Command) -> Command:
    """End with an error's message and hint on stderr, and with `--json` its problem object on stdout."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except HoldfastError as error:
            if options.get("as_json"):
                click.echo(strict_json.dump(problem(error)))
            click.echo(f"error: {error.message}", err=True)
            if error.hint:
                click.echo(f"hint: {error.hint}", err=True)
            sys.exit(CANNOT)

    return run  # type: ignore[return-value]
