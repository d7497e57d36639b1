"""What an answer cost, in the names that we use, whatever names the endpoint has for it."""

from collections.abc import Mapping
from typing import Any

CACHE_READ = "cache_read_input_tokens"
CACHE_CREATION = "cache_creation_input_tokens"


def from_openai(said: Mapping[str, Any] | None) -> dict[str, int]:
    """Usage as chat completions tell it: the prompt's tokens have the cached ones among them."""
    if not said:
        return {}
    details = said.get("prompt_tokens_details")
    cached = _count(details, "cached_tokens") if isinstance(details, Mapping) else 0
    return _usage(_count(said, "prompt_tokens"), _count(said, "completion_tokens"), {CACHE_READ: cached})


def from_anthropic(said: Mapping[str, Any] | None) -> dict[str, int]:
    """Usage as Messages tell it: the input's tokens leave out those that were cached."""
    if not said:
        return {}
    cache = {name: _count(said, name) for name in (CACHE_READ, CACHE_CREATION)}
    return _usage(_count(said, "input_tokens") + sum(cache.values()), _count(said, "output_tokens"), cache)


def _usage(prompt: int, completion: int, cache: dict[str, int]) -> dict[str, int]:
    totals = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return totals | {name: count for name, count in cache.items() if count}


def _count(said: Mapping[str, Any], name: str) -> int:
    value = said.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
