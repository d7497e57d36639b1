"""A group whose verbs are modules, each loaded only when it is called."""

import os
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import click

TAKEN = frozenset({"import", "list"})
"""Names that are Python's."""


class VerbGroup(click.Group):
    """The verb `x` is the command `x` in the module `<package>.x`; an underscore is added where Python needs one."""

    def __init__(self, *args: Any, verbs: Mapping[str, str], package: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self._verbs = verbs
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._verbs:
            return None
        name = f"{cmd_name}_" if cmd_name in TAKEN else cmd_name
        command: click.Command = getattr(import_module(f"{self._package}.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was named; an unknown one is refused with the verb that it may have meant."""
        near = [] if args[0] in self._verbs else get_close_matches(args[0], self._verbs, n=1)
        if near and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line; help that cannot be written to stdout is said to be so as well.

        A stream that the caller has closed leads nowhere, and no file of ours gets its number.
        """
        for name in ("stdin", "stdout", "stderr"):
            if getattr(sys, name) is None:
                nowhere = Path(os.devnull).open("r+")  # noqa: SIM115 - as long as the process
                setattr(sys, name, nowhere)
                setattr(sys, f"__{name}__", nowhere)  # whoever puts another in its place must not close it
        try:
            return super().main(*args, **options)
        except OSError as error:
            from holdfast.cli.errors import CANNOT, say, unusable

            say(unusable(error))
            sys.stdout = None  # or Python tries once more, and complains
            sys.exit(CANNOT)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._verbs.items()))
