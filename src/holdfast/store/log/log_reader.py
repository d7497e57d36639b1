"""Reading the log back, checked.

A read re-derives the hash of every event it returns, and compares the seqs it found with the head it saw. It raises
Corrupt rather than return less, or other, than was written. Whoever goes through a log takes a stretch of it at a
time, bounded by number and by bytes, because a single event may be large.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from holdfast.core import Event, HoldfastError
from holdfast.core.chain import GENESIS, seal, seal_digest
from holdfast.core.errors import Corrupt, NotFound, SessionArriving, SessionGone
from holdfast.core.types import EVENTS_ERASED
from holdfast.store.engine import Row, Tx

PAGE = 2_000
STRETCH_BYTES = 1024 * 1024
"""What the payloads of a stretch have together, unless it is one event."""
PAGE_BYTES = 4 * 1024 * 1024
"""What the items of a page of a list have together, unless it is one item."""
END = 2**63 - 1
CHUNK = 500

HEAD = """
    SELECT session_no, head_seq, head_hash, size_bytes, key_seal, life FROM sessions
    WHERE tenant = ?1 AND session_id = ?2"""
EVENT = "e.seq, i.event_id, i.type, e.payload, e.created_at, e.hash, i.parent_id, i.idempotency_key, e.erased"
COLUMNS = f"{EVENT}, p.hash"
SOURCE = """
    FROM transcript_events e
    LEFT JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no + 0
    LEFT JOIN transcript_events p ON p.session_no = e.session_no + 0 AND p.seq = e.seq - 1
    WHERE e.session_no = ?1 AND e.seq > ?2 AND e.seq < ?3"""
"""The zeros keep PostgreSQL from knowing the session's number on both sides of a join. While its statistics do not know
the session yet, it would take that for enough, and read the whole log again for each event."""
FORWARD = f"SELECT {COLUMNS} {SOURCE} ORDER BY e.seq LIMIT ?4"
BACKWARD = f"SELECT {COLUMNS} {SOURCE} ORDER BY e.seq DESC LIMIT ?4"
CHOSEN = f"SELECT {COLUMNS} {SOURCE} AND e.seq IN ({{places}}) ORDER BY e.seq"
SIZES = "SELECT length(e.payload) FROM transcript_events e WHERE e.session_no = ?1 AND e.seq > ?2 AND e.seq < ?3"
SIZES_FORWARD = f"{SIZES} ORDER BY e.seq LIMIT ?4"
SIZES_BACKWARD = f"{SIZES} ORDER BY e.seq DESC LIMIT ?4"
HASH_AT = "SELECT hash FROM transcript_events WHERE session_no = ?1 AND seq = ?2"
ERASED_SINCE = """
    SELECT 1 FROM transcript_events e
    JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no
    WHERE e.session_no = ?1 AND e.seq > ?2 AND i.type = ?3 LIMIT 1"""


class Head(NamedTuple):
    """A session's row as a write needs it."""

    session_no: int
    seq: int
    hash: bytes
    size: int = END
    """The bytes of all its payloads, or more."""
    key_seal: bytes | None = None
    """See `key_seal`."""


class Stretch(NamedTuple):
    """Events that follow one another, oldest first, and whether there are no more of those that were asked for."""

    events: list[Event]
    ended: bool


def head_of(tx: Tx, tenant: str, session_id: str) -> Head | None:
    """The session's row, or None; SessionGone if it was deleted, SessionArriving if it is not all there yet."""
    row = tx.one(HEAD, tenant, session_id)
    if row is None:
        return None
    if row[5] != "live":
        raise absent(session_id, row[5])
    return Head._make(row[:5])


def absent(session_id: str, life: str) -> HoldfastError:
    """Why a session whose row is there cannot be used."""
    if life == "arriving":
        return SessionArriving(f"session {session_id!r} is still being forked or imported", session_id=session_id)
    return SessionGone(f"session {session_id!r} was deleted", session_id=session_id)


def existing_head(tx: Tx, tenant: str, session_id: str) -> Head:
    """The session's row, or NotFound; see `head_of` for the rest."""
    head = head_of(tx, tenant, session_id)
    if head is None:
        raise NotFound(f"there is no session {session_id!r}", session_id=session_id)
    return head


def hash_at(tx: Tx, head: Head, seq: int) -> bytes | None:
    """The hash of the log up to this event; None if it is not there."""
    if seq == 0:
        return GENESIS
    row = tx.one(HASH_AT, head.session_no, seq)
    return None if row is None else bytes(row[0])


def erased_since(tx: Tx, head: Head) -> bool:
    """Whether events were erased after the log had this head."""
    return tx.one(ERASED_SINCE, head.session_no, head.seq, EVENTS_ERASED) is not None


def read(tx: Tx, head: Head, after: int, before: int | None, limit: int) -> list[Event]:
    """The first `limit` events between two seqs, oldest first: all of them, however large."""
    return stretch(tx, head, after, before, limit, most_bytes=None).events


def chosen(tx: Tx, head: Head, seqs: Sequence[int]) -> tuple[list[Event], dict[int, Corrupt]]:
    """The events at these seqs that are what was written, oldest first, and what is wrong with the others."""
    events: list[Event] = []
    bad: dict[int, Corrupt] = {}
    for at in range(0, len(seqs), CHUNK):
        some = seqs[at : at + CHUNK]
        places = ", ".join(f"?{number}" for number in range(4, 4 + len(some)))
        rows = {row[0]: row for row in tx.all(CHOSEN.format(places=places), head.session_no, 0, END, *some)}
        for seq in some:
            try:
                if seq not in rows:
                    raise Corrupt(f"event {seq} is missing: the log ends at {head.seq}", seq=seq)
                events.append(checked(rows[seq]))
            except Corrupt as error:
                bad[seq] = error
    return events, bad


def stretch(
    tx: Tx,
    head: Head,
    after: int,
    before: int | None,
    limit: int,
    *,
    newest: bool = False,
    most_bytes: int | None = STRETCH_BYTES,
) -> Stretch:
    """At most `limit` events between two seqs, oldest first: the oldest such, or with `newest` the newest.

    Only as many as have `most_bytes` together, and at least one if there is any.
    """
    low, high = max(after, 0), min(END if before is None else before, head.seq + 1)
    wanted = min(limit, high - low - 1)
    if wanted < 1:
        return Stretch([], high - low <= 1)
    if most_bytes is not None and head.size > most_bytes:
        sizes = tx.all(SIZES_BACKWARD if newest else SIZES_FORWARD, head.session_no, low, high, wanted)
        wanted = count_within((size for (size,) in sizes), most_bytes) or wanted
    rows = tx.all(BACKWARD if newest else FORWARD, head.session_no, low, high, wanted)
    _check_dense(head, rows, low, high, wanted, newest=newest)
    events = [checked(row) for row in rows]
    return Stretch(events[::-1] if newest else events, wanted == high - low - 1)


def count_within(sizes: Iterable[int], most_bytes: int) -> int | None:
    """How many of the first of these have so many bytes together, at least one; None if all of them do."""
    total = 0
    for number, size in enumerate(sizes):
        total += size
        if total > most_bytes and number:
            return number
    return None


def page_length(sizes: Sequence[int], limit: int, most_bytes: int = PAGE_BYTES) -> int:
    """How many items a page has whose sizes, and that of the item after it, are these: `limit`, or as many as fit."""
    most = min(len(sizes), limit)
    return count_within(sizes[:most], most_bytes) or most


def checked(row: Row) -> Event:
    """The row as an event, if its hash says that it is what was written."""
    seq, event_id, type_, payload, created_at, hash_, parent_id, key, erased, prev = row
    if event_id is None:
        raise Corrupt(f"event {seq} has lost its identity row", seq=seq)
    if prev is None and seq > 1:
        raise Corrupt(f"event {seq - 1} is missing", seq=seq - 1)
    header = (seq, event_id, type_, parent_id, created_at)
    before = prev or GENESIS
    sealed = seal(before, *header, payload) if erased is None else seal_digest(before, *header, erased)
    if sealed != hash_ or (erased is not None and payload):
        raise Corrupt(f"event {seq} ({event_id}) is not what was written: its hash differs", seq=seq, event_id=event_id)
    return Event(seq, event_id, type_, payload, created_at, hash_, parent_id, key, erased)


def _check_dense(head: Head, rows: list[Row], low: int, high: int, expected: int, *, newest: bool) -> None:
    seqs = [row[0] for row in rows]
    dense = list(range(high - 1, high - 1 - expected, -1)) if newest else list(range(low + 1, low + 1 + expected))
    if seqs != dense:
        missing = next((seq for seq in dense if seq not in set(seqs)), low + 1)
        raise Corrupt(f"event {missing} is missing: the log ends at {head.seq}", seq=missing)
