"""Where in a log events are, and how large, without their payloads; and those of a few types, without the others.

These are read as they are, and not checked against their hashes: they show somebody the way through a log.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from holdfast.store.engine import Tx
from holdfast.store.log.log_reader import Head, page_length

SOURCE = """
    FROM transcript_events e WHERE e.session_no = ?1 AND e.seq > ?2 AND e.seq < ?3 ORDER BY e.seq {order} LIMIT ?4"""
OF_TYPES = """
    FROM transcript_events e
    JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no + 0
    WHERE e.session_no = ?1 AND e.seq > ?2 AND e.seq < ?3 AND i.type IN ({types}) ORDER BY e.seq {order} LIMIT ?4"""
OF_A_TYPE = """
    FROM transcript_event_identities i
    JOIN transcript_events e ON e.session_no = i.session_no + 0 AND e.seq = i.seq
    WHERE i.session_no = ?1 AND i.type = '{type}' AND i.seq > ?2 AND i.seq < ?3 ORDER BY i.seq {order} LIMIT ?4"""
"""The type is written out, because only then does its index serve; the zeros are as in `log_reader`."""

IndexedType = Literal["message", "holdfast.attachment_added", "holdfast.state_updated"]
INDEXED_TYPES: tuple[IndexedType, ...] = get_args(IndexedType)
"""The types of events that have an index of their own."""


class EventPlace(NamedTuple):
    """Where an event is in its log, and how many bytes its payload has."""

    seq: int
    size: int


class EventGlance(NamedTuple):
    """An event as it is seen in passing; without a payload if that is too large for that, or was erased."""

    seq: int
    type: str
    created_at: int
    payload: bytes | None


def places(
    tx: Tx, head: Head, after: int, before: int, limit: int, wanted: Sequence[str] | None, *, newest: bool
) -> list[EventPlace]:
    """The first events with after < seq < before, or with `newest` the last, the last first: of all types or these.

    Those of one indexed type are found however far apart they are; for others all that lies between is gone through.
    """
    order, values = _order(newest=newest), list(wanted or ())
    if wanted is None:
        source = SOURCE.format(order=order)
    elif is_indexed(wanted):
        source, values = OF_A_TYPE.format(type=wanted[0], order=order), []
    else:
        source = OF_TYPES.format(order=order, types=", ".join(f"?{number + 5}" for number in range(len(values))))
    sql = f"SELECT e.seq, length(e.payload) {source}"
    return [EventPlace._make(row) for row in tx.all(sql, head.session_no, after, before, limit, *values)]


def is_indexed(wanted: Sequence[str]) -> bool:
    """Whether these are one type that has an index of its own."""
    return len(wanted) == 1 and wanted[0] in INDEXED_TYPES


def glances(
    tx: Tx, head: Head, type: IndexedType, after: int, before: int, limit: int, most_bytes: int, *, newest: bool
) -> list[EventGlance]:
    """The first events of a type with after < seq < before, or with `newest` the last, the last first: as many as have
    `most_bytes` together, and at least one if there is any."""
    source = OF_A_TYPE.format(type=type, order=_order(newest=newest))
    where = (head.session_no, after, before)
    sizes = [size for (size,) in tx.all(f"SELECT length(e.payload) {source}", *where, limit)]
    sql = f"SELECT e.seq, i.type, e.created_at, e.payload {source}"
    return [EventGlance._make(row) for row in tx.all(sql, *where, page_length(sizes, limit, most_bytes))]


def _order(*, newest: bool) -> str:
    return "DESC" if newest else "ASC"
