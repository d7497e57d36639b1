"""Windows of a session's log: actions and responses, without the store's own events in between.

A window is read in pages and not in one snapshot. It is consistent all the same, because the log only grows and
every page but the first is bounded by a seq. It has fewer events than were asked for, but one at least, if they would
have more than 16 MB together: its cursor goes on from there.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from holdfast.core import Event, types
from holdfast.gateway.wire.sessions import WindowCursor
from holdfast.gateway.wire.types import MAX_SEQ
from holdfast.store import Store, count_within

PAGE = 1_000
MOST_BYTES = 16 * 1024 * 1024

Wanted = Callable[[Event], bool]


@dataclass(frozen=True, slots=True)
class Window:
    """Some events, oldest first, and where to go on."""

    events: list[Event]
    cursor: WindowCursor


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


def size_of(events: Iterable[Event]) -> int:
    """The bytes of their payloads."""
    return sum(len(event.payload) for event in events)


def most(events: Sequence[Event], limit: int) -> int:
    """How many of the first of these a window has: `limit`, or as many as are not too large together."""
    return min(count_within((len(event.payload) for event in events), MOST_BYTES) or limit, limit)


async def newest(store: Store, session_id: str, limit: int, before: int | None, wanted: Wanted) -> Window:
    """The newest `limit` wanted events below `before`."""
    found: list[Event] = []
    end: int | None = None
    size = limit
    while True:
        page = await store.stretch(session_id, before=before, limit=size, newest=True, most_bytes=MOST_BYTES)
        if end is None:
            end = page.events[-1].seq if page.events else 0
        found[:0] = [event for event in page.events if wanted(event)]
        if page.ended or len(found) >= limit or size_of(found) >= MOST_BYTES:
            break
        before, size = page.events[0].seq, PAGE
    shown = found[-most(found[::-1], limit) :]
    whole = page.ended and len(shown) == len(found) < limit
    older = None if whole or not shown or shown[0].seq == 1 else shown[0].seq
    return Window(shown, WindowCursor(older, end))


async def following(
    store: Store, session_id: str, limit: int, after: int, before: int | None, wanted: Wanted
) -> Window:
    """The oldest `limit` wanted events above `after`, and below `before`."""
    found: list[Event] = []
    seen, size = after, limit
    while True:
        page = await store.stretch(session_id, after=seen, before=before, limit=size, most_bytes=MOST_BYTES)
        found += [event for event in page.events if wanted(event)]
        seen = page.events[-1].seq if page.events else seen
        if page.ended or len(found) >= limit or size_of(found) >= MOST_BYTES:
            break
        size = PAGE
    shown = found[: most(found, limit)]
    end = shown[-1].seq if shown and (len(shown) < len(found) or len(shown) == limit) else seen
    return Window(shown, WindowCursor(min(after + 1, MAX_SEQ) if after else None, end))
