"""Windows of a session's log: actions and responses, without the store's own events in between.

A window is read in pages and not in one snapshot. It is consistent all the same, because the log only grows and
every page but the first is bounded by a seq.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from holdfast.core import Event, types
from holdfast.gateway.wire import Cursor
from holdfast.store import Store

PAGE = 1_000

Wanted = Callable[[Event], bool]


@dataclass(frozen=True, slots=True)
class Window:
    """Some events, oldest first, and where to go on."""

    events: list[Event]
    cursor: Cursor


def is_action(event: Event) -> bool:
    """Whether the event is a client's and not the store's own."""
    return not event.type.startswith(types.PREFIX)


def is_entry(event: Event) -> bool:
    """Whether the event is an action or a response."""
    return is_action(event) or event.type == types.RESPONSE


def of_types(names: Iterable[str] | None) -> Wanted:
    """Whether an event is an action of one of these types; of any, if none are named."""
    if names is None:
        return is_action
    chosen = frozenset(names)
    return lambda event: is_action(event) and event.type in chosen


async def newest(store: Store, session_id: str, limit: int, before: int | None, wanted: Wanted) -> Window:
    """The newest `limit` wanted events below `before`."""
    found: list[Event] = []
    end: int | None = None
    size = limit
    while True:
        page = await store.newest(session_id, before=before, limit=size)
        if end is None:
            end = page[-1].seq if page else 0
        found[:0] = [event for event in page if wanted(event)]
        if len(found) >= limit or len(page) < size:
            break
        before, size = page[0].seq, PAGE
    found = found[-limit:]
    older = found[0].seq if len(found) == limit and found[0].seq > 1 else None
    return Window(found, Cursor(older, end))


async def following(
    store: Store, session_id: str, limit: int, after: int, before: int | None, wanted: Wanted
) -> Window:
    """The oldest `limit` wanted events above `after`, and below `before`."""
    found: list[Event] = []
    seen, size = after, limit
    while True:
        page = await store.read(session_id, after=seen, before=before, limit=size)
        found += [event for event in page if wanted(event)]
        seen = page[-1].seq if page else seen
        if len(found) >= limit or len(page) < size:
            break
        size = PAGE
    found = found[:limit]
    end = found[-1].seq if len(found) == limit else seen
    return Window(found, Cursor(after + 1 if after else None, end))
