"""Numbers with a unit, as options: ages and sizes."""

import re
from typing import Any

import click

MOST = 2**53


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
