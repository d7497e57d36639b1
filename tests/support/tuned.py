"""Stores that wait less, or do less at once, than others: `@pytest.mark.tuned(look_seconds=0.05)`."""

from typing import Any

import pytest

from holdfast.store import StoreTuning

OFTEN = {"look_seconds": 0.05}
"""Such a store soon sees what is left to do."""
SHORT = 7
"""A step's events, so that a log of fifty takes many."""


def tuning_of(test: pytest.Item) -> StoreTuning:
    """What the marks of a test, and of its module, say together; the test's own come first."""
    values: dict[str, Any] = {}
    for mark in test.iter_markers("tuned"):
        values = {**mark.kwargs, **values}
    return StoreTuning(**values)
