"""What models cost: a file that an operator edits, read again when it changes. A file with a mistake keeps the prices
from before, and says what is wrong; it stops nothing.

    currency = "USD"
    [models."gpt-4o-mini"]     # or a beginning: "gpt-4o*"
    input = 0.15               # per million tokens
    output = 0.60
    cached = 0.075             # of the input's tokens, those that were cached; as input if left out
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.core import Usage

LARGEST = 1024 * 1024
MOST_MODELS = 10_000
HIGHEST = 1e9
CURRENCY = "currency"
MODELS = "models"
INPUT, OUTPUT, CACHED = "input", "output", "cached"
LONGEST_CURRENCY = 16
ANY_END = "*"


class BadPrices(Exception):
    """What is wrong with a file of prices."""


@dataclass(frozen=True, slots=True)
class Price:
    """Of a million tokens: those that go in, those that come out, and those that go in and were cached."""

    input: float
    output: float
    cached: float

    def cost_micros(self, used: Usage) -> int:
        """What this much cost, in millionths."""
        cached = min(used.cached_tokens, used.input_tokens)
        return round(
            (used.input_tokens - cached) * self.input + cached * self.cached + used.output_tokens * self.output
        )


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices of models, by name or by how the name begins."""

    currency: str | None = None
    models: Mapping[str, Price] = field(default_factory=dict)

    def price_of(self, model: str) -> Price | None:
        """The price of a model; of several beginnings the longest counts."""
        found = self.models.get(model)
        if found is not None:
            return found
        fitting = [name for name in self.models if name.endswith(ANY_END) and model.startswith(name[:-1])]
        return self.models[max(fitting, key=len)] if fitting else None


class PriceFile:
    """The file, as it was last read. Reading blocks."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.problem: str | None = None
        """What is wrong with the file as it is now."""
        self._seen: tuple[int, ...] | None = None
        self._prices = PriceList()

    def read(self) -> PriceList:
        """The prices as they are now, or as they were before the file became wrong."""
        if self.path is None:
            return self._prices
        try:
            about = self.path.stat()
            seen = (about.st_mtime_ns, about.st_size, about.st_ino)
            if seen == self._seen:
                return self._prices
            self._prices = parsed(_text(self.path))
            self._seen, self.problem = seen, None
        except OSError as error:
            self._seen, self.problem = None, error.strerror or str(error)
        except BadPrices as error:
            self._seen, self.problem = seen, str(error)
        return self._prices


def parsed(text: str) -> PriceList:
    """The prices in a text; BadPrices says what is wrong with it."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise BadPrices(str(error)[:300]) from None
    _refuse_others(document, {CURRENCY, MODELS}, "the file")
    currency = document.get(CURRENCY)
    if currency is not None and not (isinstance(currency, str) and 0 < len(currency) <= LONGEST_CURRENCY):
        raise BadPrices(f"{CURRENCY} must be a short text")
    models = document.get(MODELS, {})
    if not isinstance(models, dict) or len(models) > MOST_MODELS:
        raise BadPrices(f'{MODELS} must be tables like [models."a-name"], {MOST_MODELS:,} at most')
    return PriceList(currency, {name: _price(name, table) for name, table in models.items()})


def _price(name: str, table: Any) -> Price:
    if not isinstance(table, dict):
        raise BadPrices(f"the model {name!r:.80} has no table")
    _refuse_others(table, {INPUT, OUTPUT, CACHED}, f"the model {name!r:.80}")
    for needed in (INPUT, OUTPUT):
        if needed not in table:
            raise BadPrices(f"the model {name!r:.80} has no {needed}")
    for member, value in table.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 <= value <= HIGHEST:
            raise BadPrices(f"{member} of the model {name!r:.80} must be a number from 0, not {value!r:.80}")
    return Price(float(table[INPUT]), float(table[OUTPUT]), float(table[CACHED if CACHED in table else INPUT]))


def _refuse_others(table: Mapping[str, Any], known: set[str], whose: str) -> None:
    other = next((name for name in table if name not in known), None)
    if other is not None:
        raise BadPrices(f"{whose} has {other!r:.80}, which is none of {', '.join(sorted(known))}")


def _text(path: Path) -> str:
    with path.open("rb") as file:
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise BadPrices(f"the file has more than {LARGEST:,} bytes")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise BadPrices("the file is not UTF-8") from None
