"""Which events are in the log already: a retry changes nothing.

An event is known by its id or its idempotency key. The same name with another body, compared as JSON values, is a
conflict: the first body stands.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from holdfast.core import strict_json
from holdfast.core.errors import IdempotencyConflict, NotFound
from holdfast.store.engine import Tx
from holdfast.store.prepare import Prepared
from holdfast.store.reading import Head

KNOWN = """
    SELECT i.event_id, i.idempotency_key, i.seq, i.type, i.parent_id, e.created_at, e.payload, e.erased
    FROM transcript_event_identities i
    JOIN transcript_events e ON e.session_no = i.session_no + 0 AND e.seq = i.seq
    WHERE i.session_no = ?1 AND i.{column} IN ({marks})"""
"""The zero is explained where the log is read."""


class Known(NamedTuple):
    """An event that is in the log already."""

    event_id: str
    idempotency_key: str | None
    seq: int
    type: str
    parent_id: str | None
    created_at: int
    payload: bytes
    erased: bytes | None


def find_replays(tx: Tx, head: Head, events: Sequence[Prepared]) -> dict[int, Known]:
    """Which of the events, by index, the log has already; IdempotencyConflict if it has them with another body."""
    if not tx.rerun and not any(event.named or event.idempotency_key for event in events):
        return {}
    named = [event.event_id for event in events if event.named or tx.rerun]
    keyed = [event.idempotency_key for event in events if event.idempotency_key is not None]
    by_id = {known.event_id: known for known in look_up(tx, head, "event_id", named)}
    tx.rerun = tx.rerun and bool(by_id)  # whoever has the session's lock and finds none of its events wrote nothing
    by_key = {known.idempotency_key: known for known in look_up(tx, head, "idempotency_key", keyed)}
    found: dict[int, Known] = {}
    for index, event in enumerate(events):
        same_id = by_id.get(event.event_id)
        same_key = by_key.get(event.idempotency_key) if event.idempotency_key is not None else None
        known = same_id or same_key
        if known is None:
            continue
        if (same_id and same_key and same_id.seq != same_key.seq) or not _same_body(event, known):
            raise _conflict(event, known)
        found[index] = known
    return found


def known_before(tx: Tx, head: Head, event: Prepared) -> Known | None:
    """The event that was written with this one's key, or by an earlier run of this write, whatever its body."""
    if event.idempotency_key is not None:
        found = look_up(tx, head, "idempotency_key", [event.idempotency_key])
        if found:
            return found[0]
    found = look_up(tx, head, "event_id", [event.event_id]) if tx.rerun else []
    tx.rerun = tx.rerun and bool(found)
    return found[0] if found else None


def first_body(known: Known, type: str) -> Any:
    """What a retry's first write said; IdempotencyConflict if that was another kind, NotFound if it was erased."""
    if known.type != type:
        raise conflict_with(known)
    if known.erased is not None:
        raise NotFound(f"what was written first, event {known.seq}, was erased", seq=known.seq)
    return strict_json.parse(known.payload)


def conflict_with(known: Known) -> IdempotencyConflict:
    """The refusal of a key that was used before for something else."""
    return IdempotencyConflict(f"the key was used before, for event {known.seq}, with another body", seq=known.seq)


def find_by_key(tx: Tx, head: Head, idempotency_key: str) -> Known | None:
    """The event that was written with this key, or None."""
    found = look_up(tx, head, "idempotency_key", [idempotency_key])
    return found[0] if found else None


def look_up(tx: Tx, head: Head, column: str, values: Sequence[str | None]) -> list[Known]:
    """The events with these ids or keys. Lists are padded to few lengths, so that few statements are compiled."""
    found: list[Known] = []
    for start in range(0, len(values), 256):
        part = list(values[start : start + 256])
        size = next(size for size in (1, 16, 256) if size >= len(part))
        part += [part[-1]] * (size - len(part))
        marks = ", ".join(f"?{number}" for number in range(2, size + 2))
        rows = tx.all(KNOWN.format(column=column, marks=marks), head.session_no, *part)
        found += [Known._make(row) for row in rows]
    return found


def _same_body(event: Prepared, known: "Prepared | Known") -> bool:
    """Whether a retry says the same; of an erased event only its type is left to compare."""
    if known.type != event.type:
        return False
    erased = isinstance(known, Known) and known.erased is not None
    return erased or strict_json.same_value(known.payload, event.payload)


def _conflict(event: Prepared, known: Known) -> IdempotencyConflict:
    name = event.idempotency_key or event.event_id
    return IdempotencyConflict(
        f"{name!r} was used before, for event {known.seq}, with another body", key=name, seq=known.seq
    )


def without_twins(events: Sequence[Prepared]) -> tuple[list[Prepared], dict[str, str]]:
    """The events without those that repeat an earlier one of the same batch, and which repeats which."""
    unique: list[Prepared] = []
    seen: dict[tuple[str, str], Prepared] = {}
    twins: dict[str, str] = {}
    for event in events:
        names = [("id", event.event_id)]
        if event.idempotency_key is not None:
            names.append(("key", event.idempotency_key))
        first = next((seen[name] for name in names if name in seen), None)
        if first is None:
            unique.append(event)
            seen.update(dict.fromkeys(names, event))
        elif _same_body(event, first):
            twins[event.event_id] = first.event_id
        else:
            raise IdempotencyConflict(
                f"{event.idempotency_key or event.event_id!r} is in the batch twice, with different bodies"
            )
    return unique, twins
