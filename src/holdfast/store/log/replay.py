"""Which events are in the log already: a retry changes nothing.

An event is known by its id or its idempotency key. The same name with another body, compared as JSON values, is a
conflict: the first body stands. So is an id with another key than it has in the log: a key that is not kept would let a
later retry write the event again.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.core.errors import IdempotencyConflict, NotFound
from holdfast.core.event_bodies import Body, read
from holdfast.store.engine import Tx
from holdfast.store.log.body_pairs import BodyPairs, KeptBody
from holdfast.store.log.log_reader import Head
from holdfast.store.log.prepare import PreparedEvent

KNOWN = """
    SELECT i.event_id, i.idempotency_key, i.seq, i.type, i.parent_id, e.created_at, {payload}, e.erased,
      length(e.payload)
    FROM transcript_event_identities i
    JOIN transcript_events e ON e.session_no = i.session_no + 0 AND e.seq = i.seq
    WHERE i.session_no = ?1 AND i.{column} IN ({marks})"""
"""The zero is explained where the log is read."""
PAYLOAD = "e.payload"
SMALL = 4 * 1024
SMALL_PAYLOAD = f"CASE WHEN length(e.payload) <= {SMALL} THEN e.payload END"
"""Many events may be looked up at once, each as large as an event may be."""


class KnownEvent(NamedTuple):
    """An event that is in the log already."""

    event_id: str
    idempotency_key: str | None
    seq: int
    type: str
    parent_id: str | None
    created_at: int
    payload: bytes
    erased: bytes | None
    size: int
    """Of its payload, which is empty here if it was left where it is."""


def find_replays(tx: Tx, head: Head, events: Sequence[PreparedEvent]) -> dict[int, KnownEvent]:
    """Which of the events, by index, the log has already; IdempotencyConflict if it has them with another body."""
    if not tx.rerun and not any(event.named or event.idempotency_key for event in events):
        return {}
    named = [event.event_id for event in events if event.named or tx.rerun]
    keyed = [event.idempotency_key for event in events if event.idempotency_key is not None]
    by_id = {known.event_id: known for known in look_up(tx, head, "event_id", named, SMALL_PAYLOAD)}
    tx.rerun = tx.rerun and bool(by_id)  # whoever has the session's lock and finds none of its events wrote nothing
    by_key = {known.idempotency_key: known for known in look_up(tx, head, "idempotency_key", keyed, SMALL_PAYLOAD)}
    found: dict[int, KnownEvent] = {}
    bodies = BodyPairs(tx)
    for index, event in enumerate(events):
        same_id = by_id.get(event.event_id)
        same_key = by_key.get(event.idempotency_key) if event.idempotency_key is not None else None
        known = same_id or same_key
        if known is None:
            continue
        other_key = same_id and event.idempotency_key not in (None, same_id.idempotency_key)
        if other_key or not _same_body(bodies, head, event, known):
            raise _conflict(event, known)
        found[index] = known if known.erased is not None else known._replace(payload=event.payload)
    bodies.settle(head.session_no)
    return found


def known_before(tx: Tx, head: Head, event: PreparedEvent) -> KnownEvent | None:
    """The event that was written with this one's key, or by an earlier run of this write, whatever its body."""
    if event.idempotency_key is not None:
        found = look_up(tx, head, "idempotency_key", [event.idempotency_key])
        if found:
            return found[0]
    found = look_up(tx, head, "event_id", [event.event_id]) if tx.rerun else []
    tx.rerun = tx.rerun and bool(found)
    return found[0] if found else None


def first_body(known: KnownEvent, body: type[Body]) -> Body:
    """What a retry's first write said; IdempotencyConflict if that was another kind, NotFound if it was erased."""
    if known.type != body.TYPE:
        raise conflict_with(known)
    if known.erased is not None:
        raise NotFound(f"what was written first, event {known.seq}, was erased", seq=known.seq)
    return read(known, body)


def conflict_with(known: KnownEvent) -> IdempotencyConflict:
    """The refusal of a key that was used before for something else."""
    return IdempotencyConflict(f"the key was used before, for event {known.seq}, with another body", seq=known.seq)


def find_by_key(tx: Tx, head: Head, idempotency_key: str) -> KnownEvent | None:
    """The event that was written with this key, or None."""
    found = look_up(tx, head, "idempotency_key", [idempotency_key])
    return found[0] if found else None


def look_up(tx: Tx, head: Head, column: str, values: Sequence[str | None], payload: str = PAYLOAD) -> list[KnownEvent]:
    """The events with these ids or keys, and their payloads, or those of the small ones.

    Lists are padded to few lengths, so that few statements are compiled.
    """
    found: list[KnownEvent] = []
    for start in range(0, len(values), 256):
        part = list(values[start : start + 256])
        size = next(size for size in (1, 16, 256) if size >= len(part))
        part += [part[-1]] * (size - len(part))
        marks = ", ".join(f"?{number}" for number in range(2, size + 2))
        rows = tx.all(KNOWN.format(column=column, marks=marks, payload=payload), head.session_no, *part)
        found += [KnownEvent._make(row)._replace(payload=row[6] or b"") for row in rows]
    return found


def _same_body(bodies: BodyPairs, head: Head, event: PreparedEvent, known: KnownEvent) -> bool:
    """Whether a retry says the same; of an erased event its type and the digest of its body are left to compare."""
    if known.type != event.type:
        return False
    if known.erased is not None:
        return hashlib.sha256(event.payload).digest() == known.erased
    first = known.payload if len(known.payload) == known.size else KeptBody(head.session_no, known.seq)
    return bodies.same(first, known.size, event.payload)


def _conflict(event: PreparedEvent, known: KnownEvent) -> IdempotencyConflict:
    name = event.idempotency_key or event.event_id
    return IdempotencyConflict(
        f"{name!r} was used before, for event {known.seq}, with another body", key=name, seq=known.seq
    )


def without_twins(
    tx: Tx, head: Head, events: Sequence[PreparedEvent], known: dict[int, KnownEvent]
) -> tuple[list[PreparedEvent], dict[int, PreparedEvent]]:
    """The events of a batch that are new, each once, and by its place in the batch what stands for each other one.

    What repeats an earlier event of the batch, by its id or its key, is not written. Its key is kept if the earlier one
    has none. IdempotencyConflict if a retry could not find all of them where they were: two bodies or two keys under
    one name, or an id of an event that is in the log by another.
    """
    if not known and not any(event.named or event.idempotency_key is not None for event in events):
        return list(events), {}  # ids that were drawn are never the same
    unique: list[PreparedEvent] = []
    places: dict[tuple[str, str], int] = {}
    twins: dict[int, int] = {}
    bodies = BodyPairs(tx)
    lost = {events[index].event_id for index, found in known.items() if found.event_id != events[index].event_id}
    for index, event in enumerate(events):
        if index in known:
            continue
        found = {places[name] for name in _names(event) if name in places}
        if not found:
            places.update(dict.fromkeys(_names(event), len(unique)))
            unique.append(event)
            continue
        place = found.pop()
        first = unique[place]
        keys = {first.idempotency_key, event.idempotency_key} - {None}
        same_type = event.type == first.type
        if found or len(keys) > 1 or not same_type or not bodies.same(first.payload, len(first.payload), event.payload):
            raise _twice(event)
        unique[place] = first._replace(idempotency_key=next(iter(keys), None))
        places.update((name, place) for name in _names(event) if name[0] == "key")
        twins[index] = place
        if event.event_id != first.event_id:
            lost.add(event.event_id)
    for event in unique:
        if event.event_id in lost:
            raise _twice(event)
    bodies.settle(head.session_no)
    return unique, {twin: unique[place] for twin, place in twins.items()}


def _names(event: PreparedEvent) -> list[tuple[str, str]]:
    """What an event is known by."""
    names = [("id", event.event_id)]
    if event.idempotency_key is not None:
        names.append(("key", event.idempotency_key))
    return names


def _twice(event: PreparedEvent) -> IdempotencyConflict:
    name = event.idempotency_key or event.event_id
    return IdempotencyConflict(f"{name!r} is in the batch twice, for different events", key=name)
