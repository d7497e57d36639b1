"""Append: every change of a session goes through here.

Density, identity, expectation, fencing and the hash chain are decided here and nowhere else. The order of checks is:
replay, expectation, lease. The function runs inside an open transaction that holds the session's lock.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.core import Appended, Event, Lease
from holdfast.core.chain import GENESIS, seal
from holdfast.core.errors import InvalidInput, LeaseLost, NotFound, StaleWriter
from holdfast.store.engine import RecordedEvent, Tx
from holdfast.store.log import key_seal
from holdfast.store.log.body_pairs import IN_LANE
from holdfast.store.log.log_reader import Head, existing_head, head_of, stretch
from holdfast.store.log.prepare import PreparedEvent
from holdfast.store.log.projection import DEFAULT_AGENT
from holdfast.store.log.replay import SMALL_PAYLOAD, KnownEvent, find_replays, look_up, without_twins

MAX_MISSED = 100
EMPTY_DOCUMENT = b"{}"

CREATE = """
    INSERT INTO sessions
      (tenant, session_id, agent, status, created_at, updated_at, head_seq, head_hash, document)
    VALUES (?1, ?2, ?3, 'active', ?4, ?4, 0, ?5, ?6)"""
ADVANCE = """
    UPDATE sessions SET head_seq = ?2, head_hash = ?3, updated_at = ?4, size_bytes = size_bytes + ?5, key_seal = ?6
    WHERE session_no = ?1"""
INSERT_EVENT = """
    INSERT INTO transcript_events (session_no, seq, created_at, event_id, hash, payload)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)"""
INSERT_EVENT_ERASED = """
    INSERT INTO transcript_events (session_no, seq, created_at, event_id, hash, payload, erased)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"""
INSERT_IDENTITY = """
    INSERT INTO transcript_event_identities (session_no, seq, event_id, type, parent_id, idempotency_key)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)"""
FENCE = """
    SELECT s.session_id, l.fence, l.holder FROM sessions s LEFT JOIN leases l ON l.session_no = s.session_no
    WHERE s.session_no = ?1"""


def open_head(tx: Tx, tenant: str, session_id: str, created_at: int) -> Head:
    """The session's row, made if it is not there."""
    head = head_of(tx, tenant, session_id)
    if head is not None:
        return head
    tx.run(CREATE, tenant, session_id, DEFAULT_AGENT, created_at, GENESIS, EMPTY_DOCUMENT)
    return existing_head(tx, tenant, session_id)


def append(
    tx: Tx,
    tenant: str,
    session_id: str,
    events: Sequence[PreparedEvent],
    *,
    expected_seq: int | None = None,
    lease: Lease | None = None,
    create: bool = True,
) -> Appended:
    """Append the events that are not in the log yet; where each of them is."""
    head = head_of(tx, tenant, session_id)
    if head is None:
        if not create:
            raise NotFound(f"there is no session {session_id!r}", session_id=session_id)
        if expected_seq not in (None, 0):
            raise stale(tx, Head(0, 0, GENESIS), session_id, expected_seq or 0)
        head = open_head(tx, tenant, session_id, events[0].created_at)
        places: dict[int, KnownEvent] = {}
    else:
        places = find_replays(tx, head, events)
        if len(places) == len(events):
            return _located(events, places, {})
        if expected_seq is not None and expected_seq != head.seq:
            raise stale(tx, head, session_id, expected_seq)
    if lease is not None:
        check_lease(tx, head, lease)
    fresh, twins = without_twins(tx, head, events, places) if len(events) > 1 else (events, {})
    _check_parents(tx, head, fresh)
    seqs = _write(tx, tenant, session_id, head, fresh)
    written = [twins.get(index, event) for index, event in enumerate(events)] if twins else events
    return _located(written, places, seqs)


def check_lease(tx: Tx, head: Head, lease: Lease) -> None:
    """LeaseLost if a newer lease was given out, or this is not one of the session's."""
    session_id, fence, holder = tx.one(FENCE, head.session_no) or (None, None, None)
    if session_id != lease.session_id:
        raise LeaseLost(f"a lease of session {lease.session_id!r} is none of session {session_id!r}")
    if (fence, holder) != (lease.fence, lease.holder):
        raise LeaseLost(
            f"lease {lease.fence} of session {lease.session_id!r} was outranked by {fence}",
            fence=lease.fence,
            current=fence,
        )


def stale(tx: Tx, head: Head, session_id: str, expected_seq: int) -> StaleWriter:
    """The refusal of a writer that expected another head, with the first of what it missed."""
    missed = stretch(tx, head, expected_seq, None, MAX_MISSED).events if expected_seq < head.seq else []
    return StaleWriter(
        f"session {session_id!r} is at seq {head.seq}, not {expected_seq}",
        session_id=session_id,
        expected_seq=expected_seq,
        head_seq=head.seq,
        missed=[
            {"seq": event.seq, "eventId": event.event_id, "type": event.type, "payload": _shown(event)}
            for event in missed
        ],
    )


def _shown(event: Event) -> Any:
    """What a missed event says; of a large one its JSON as it is, for no lane parses that."""
    return event.value() if len(event.payload) <= IN_LANE else msgspec.Raw(event.payload)


def _check_parents(tx: Tx, head: Head, events: Sequence[PreparedEvent]) -> None:
    parents = {event.parent_id for event in events if event.parent_id is not None}
    if not parents or not (parents := parents - {event.event_id for event in events}):
        return
    known = {found.event_id for found in look_up(tx, head, "event_id", sorted(parents, key=str), SMALL_PAYLOAD)}
    for parent in parents:
        if parent not in known:
            raise InvalidInput(f"the parent event {parent!r} is not in this session", parent_id=parent)


def _write(tx: Tx, tenant: str, session_id: str, head: Head, events: Sequence[PreparedEvent]) -> dict[str, int]:
    """Insert events after the head and move it; the seq of each by event id."""
    session_no, seq, prev, _, stored = head
    first, _, keys = key_seal.at_head(stored, seq)
    size = 0
    rows: list[tuple[Any, ...]] = []
    identities: list[tuple[Any, ...]] = []
    seqs: dict[str, int] = {}
    for event in events:
        event_id, kind, payload, created_at, parent_id, key, _ = event
        seq += 1
        prev = seal(prev, seq, event_id, kind, parent_id, created_at, payload)
        rows.append((session_no, seq, created_at, event_id, prev, payload))
        identities.append((session_no, seq, event_id, kind, parent_id, key))
        seqs[event_id] = seq
        keys = key_seal.with_key(keys, seq, key)
        size += len(payload)
        tx.recorded.append(RecordedEvent(tenant, session_id, seq, prev, event))
    sealed = key_seal.KeySeal(first, seq, keys).stored()
    advance = (session_no, seq, prev, events[-1].created_at, size, sealed)
    if len(rows) == 1:
        tx.run_together((INSERT_EVENT, rows[0]), (INSERT_IDENTITY, identities[0]), (ADVANCE, advance))
    else:
        tx.run_many(INSERT_EVENT, rows)
        tx.run_many(INSERT_IDENTITY, identities)
        tx.run(ADVANCE, *advance)
    return seqs


def _located(events: Sequence[PreparedEvent], known: dict[int, KnownEvent], fresh: dict[str, int]) -> Appended:
    if len(events) == 1 and not known:
        (event,) = events
        seq = fresh[event.event_id]
        return Appended(seq, seq, (seq,), (event.event_id,), (event.created_at,), 0)
    places = [
        (known[index].seq, known[index].event_id, known[index].created_at)
        if index in known
        else (fresh[event.event_id], event.event_id, event.created_at)
        for index, event in enumerate(events)
    ]
    seqs = tuple(place[0] for place in places)
    return Appended(min(seqs), max(seqs), seqs, tuple(p[1] for p in places), tuple(p[2] for p in places), len(known))
