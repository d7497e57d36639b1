"""Pages of lists: bounded by number and by bytes, because a single item may be large."""

from collections.abc import Sequence

from holdfast.store.log.reading import fitting

PAGE_BYTES = 4 * 1024 * 1024
"""What the items of a page have together, unless it is one item."""


def page_length(sizes: Sequence[int], limit: int) -> int:
    """How many items a page has whose sizes, and that of the item after it, are these: `limit`, or as many as fit."""
    most = min(len(sizes), limit)
    return fitting(sizes[:most], PAGE_BYTES) or most
