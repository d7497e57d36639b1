"""Options that many commands share: which sessions it is about, and ages and sizes, numbers with a unit.

The sessions are a running gateway's, or those of a store that no gateway holds.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from holdfast.gateway.folder import sqlite_url

MOST = 2**53

Command = TypeVar("Command", bound=Callable[..., Any])


class FiniteRange(click.FloatRange):
    """A number of a range, which is neither infinite nor no number at all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number to count with.", param, ctx)
        return number


@dataclass(frozen=True, slots=True)
class Location:
    """What the options say. A gateway's URL wins over a store's, a store's over the data folder."""

    data: Path
    store: str | None
    url: str | None
    tenant: str | None

    @property
    def store_url(self) -> str:
        """The store that is meant when no gateway holds it."""
        return self.store or sqlite_url(self.data)


def location_options(command: Command) -> Command:
    """Give a command the options that say where, as its argument `where`, and `--json` as `as_json`."""
    return store_options(click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")(command))


def store_options(command: Command) -> Command:
    """Give a command the options that say where, as its argument `where`."""
    for option in (
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
        return inner(where=Location(data, store, url, tenant), **rest)

    inner = command
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]


class Amount(click.ParamType[int]):
    """A number with a unit."""

    def __init__(self, name: str, units: dict[str, int]) -> None:
        self.name = name
        self._units = units

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"(\d+) ?([A-Za-z]*)", str(value))
        unit = next((each for each in self._units if found and each.lower() == found[2].lower()), None)
        if found is None or unit is None:
            self.fail(f"{value!r} is not a number with one of {', '.join(filter(None, self._units))}", param, ctx)
        amount = int(found[1]) * self._units[unit]
        if amount > MOST:
            self.fail(f"{value!r} is more than can be counted", param, ctx)
        return amount


AGE = Amount("AGE", {"s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000})
"""In milliseconds."""
SIZE = Amount("SIZE", {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12})
"""In bytes."""
