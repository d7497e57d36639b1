"""Who reads: a name that a gateway gives to whoever it works for, so that the readers can give each a fair share.

It goes along with the task that asks, and not through every signature: a reader needs it, and nothing in between does.
What is done for everybody, and a program that has the store to itself, has no name and no share to keep to.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CALLER: ContextVar[str | None] = ContextVar("holdfast.caller", default=None)


@contextmanager
def reading_for(caller: str) -> Iterator[None]:
    """Whatever is read within, by this task or one that it starts, is read for this caller."""
    before = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(before)


def current_caller() -> str | None:
    """For whom the running task reads; None if that is nobody's business."""
    return _CALLER.get()
