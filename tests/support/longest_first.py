"""The longest tests begin first, so that a run on several workers does not end with all but one of them idle.

A counted test says about how long it takes: `@pytest.mark.long(seconds=100)`. Others keep their order behind these.
"""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by what the tests say, longest first."""
    items.sort(key=_seconds, reverse=True)


def _seconds(item: pytest.Item) -> float:
    mark = item.get_closest_marker("long")
    seconds: float = 0.0 if mark is None else mark.kwargs.get("seconds", 0.0)
    return seconds
