"""Which sessions a command is about: a running gateway's, or a store's that no gateway holds."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from holdfast.gateway.folder import sqlite_url

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Where:
    """What the options say. A gateway's URL wins over a store's, a store's over the data folder."""

    data: Path
    store: str | None
    url: str | None
    tenant: str | None

    @property
    def store_url(self) -> str:
        """The store that is meant when no gateway holds it."""
        return self.store or sqlite_url(self.data)


def somewhere(command: Command) -> Command:
    """Give a command the options that say where, as its argument `where`, and `--json` as `as_json`."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout."),
        click.option(
            "--tenant",
            envvar="HOLDFAST_TENANT",
            help="Whose sessions, in a store with tenants.  [default: the token's, or default]",
        ),
        click.option("--url", metavar="URL", envvar="HOLDFAST_URL", help="A running gateway, wherever it is."),
        click.option("--store", metavar="URL", envvar="HOLDFAST_STORE", help="A store, instead of the folder's."),
        click.option(
            "--data",
            default=Path("holdfast-data"),
            show_default="./holdfast-data",
            type=click.Path(file_okay=False, path_type=Path),
            envvar="HOLDFAST_DATA",
            help="The data folder; if a gateway holds it, the gateway is asked.",
        ),
    ):
        command = option(command)

    def run(data: Path, store: str | None, url: str | None, tenant: str | None, **rest: Any) -> Any:
        return inner(where=Where(data, store, url, tenant), **rest)

    inner = command
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]
