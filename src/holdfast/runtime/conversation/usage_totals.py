"""What a conversation has cost: the turns' usage in one set of names, and their sum."""

from collections.abc import Mapping
from typing import Any

NAMES = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
"""What backends call it, and what we do."""
TOTALS = (
    *("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    *("turns", "tool_calls", "iterations"),
)

Usage = dict[str, int | float]


def no_usage() -> Usage:
    """The sum of no turns."""
    return dict.fromkeys(TOTALS, 0)


def turn_usage(usage: Mapping[str, Any]) -> Usage:
    """A turn's usage in our names; what is no number is left out."""
    named = ((NAMES.get(name, name), value) for name, value in usage.items())
    counts = {name: value for name, value in named if isinstance(value, int | float) and not isinstance(value, bool)}
    return {"input_tokens": 0, "output_tokens": 0} | counts


def with_turn(totals: Mapping[str, int | float], usage: Mapping[str, Any]) -> Usage:
    """The totals after one more turn."""
    turn = {"turns": 1} | turn_usage(usage)
    return {name: totals.get(name, 0) + turn.get(name, 0) for name in {**no_usage(), **totals, **turn}}
