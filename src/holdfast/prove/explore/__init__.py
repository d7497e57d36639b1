"""Exploring a runtime: histories that nobody wrote, drawn from a seed, performed, judged by a model and shrunk.

A *history* is a list of operations over several conversations, with stops, kills and pauses between and during them.
It is performed on a fresh target, all that was sent and answered is recorded, and the verdict is a function of that
record alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.prove.explore.api import ExploreResult, explore, explore_async

__all__ = ["ExploreResult", "explore", "explore_async"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"{__name__}.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
