"""A window of all events of a log, read at one moment: the newest, or those that follow a seq.

It is bounded by its bytes, and by how far it goes to find events of some types: its cursor leads on from there. An
event that is not what was written is named, and hides no other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.core import Event
from holdfast.core.errors import Corrupt
from holdfast.gateway.routes.window import MOST_BYTES
from holdfast.gateway.wire.queries import DamagedEvent
from holdfast.gateway.wire.sessions import WindowCursor
from holdfast.gateway.wire.types import MAX_SEQ
from holdfast.store import EventPlace, SessionSnapshot, count_within, is_indexed

MOST_SEEN = 20_000
"""Events that one look goes through for those of some types."""


@dataclass(frozen=True, slots=True)
class LogWindow:
    """Some events, oldest first, those that are damaged, and where to go on."""

    events: list[Event]
    damaged: list[DamagedEvent]
    cursor: WindowCursor


def newest_events(
    session: SessionSnapshot, limit: int, before: int | None = None, types: Sequence[str] | None = None
) -> LogWindow:
    """The newest `limit` events below `before`."""
    high = min(session.head_seq + 1, MAX_SEQ if before is None else before)
    low = max(high - 1 - _reach(limit, types), 0)
    chosen = _that_fit(_chosen(session, low, high, limit, types, newest=True))
    whole = len(chosen.seqs) < limit and not chosen.cut
    older = low + 1 if whole else chosen.seqs[-1]
    events, damaged = _read(session, chosen.seqs[::-1], dense=types is None)
    return LogWindow(events, damaged, WindowCursor(older if older > 1 else None, max(high - 1, 0)))


def events_after(
    session: SessionSnapshot, limit: int, after: int, before: int | None = None, types: Sequence[str] | None = None
) -> LogWindow:
    """The oldest `limit` events above `after`, and below `before`."""
    high = min(session.head_seq + 1, MAX_SEQ if before is None else before)
    far = min(after + 1 + _reach(limit, types), high)
    chosen = _that_fit(_chosen(session, after, far, limit, types, newest=False))
    whole = len(chosen.seqs) < limit and not chosen.cut
    end = max(far - 1, after) if whole else chosen.seqs[-1]
    events, damaged = _read(session, chosen.seqs, dense=types is None)
    return LogWindow(events, damaged, WindowCursor(min(after + 1, MAX_SEQ) if after else None, end))


def _reach(limit: int, types: Sequence[str] | None) -> int:
    """How far a look goes."""
    if types is None:
        return limit
    return MAX_SEQ if is_indexed(types) else MOST_SEEN


@dataclass(frozen=True, slots=True)
class _Chosen:
    seqs: list[int]
    cut: bool
    """Whether there would be more, if they were not so large."""


def _chosen(
    session: SessionSnapshot, low: int, high: int, limit: int, types: Sequence[str] | None, *, newest: bool
) -> list[EventPlace]:
    """Where the events are, in the order in which they are looked for; without types every seq, also a missing one."""
    found = session.places(low, high, limit, types, newest=newest) if high - low > 1 else []
    if types is not None:
        return found
    sizes = dict(found)
    seqs = range(low + 1, min(low + 1 + limit, high))
    return [EventPlace(seq, sizes.get(seq, 0)) for seq in (reversed(seqs) if newest else seqs)]


def _that_fit(places: list[EventPlace]) -> _Chosen:
    most = count_within((place.size for place in places), MOST_BYTES)
    return _Chosen([place.seq for place in places[:most]], most is not None)


def _read(session: SessionSnapshot, seqs: list[int], *, dense: bool) -> tuple[list[Event], list[DamagedEvent]]:
    if dense and seqs:
        try:
            return session.between(seqs[0] - 1, seqs[-1] + 1), []
        except Corrupt:
            pass
    events, bad = session.events(seqs)
    return events, [DamagedEvent(session.session_id, seq, error.message) for seq, error in bad.items()]
