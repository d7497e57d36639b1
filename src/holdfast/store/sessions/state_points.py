"""The state as a patch left it: what a retry of that patch is told.

Some patches leave the whole document beside the log, as a point. It is kept whenever the patches since the last one
cost as much as the document, so points take no more room than the log itself, and what a patch left follows from the
point before it and a number of patches that the length of the log does not change. A session without points, because
it is older than they are, was forked or imported, or lost them to an erasure, gets them by the first retry that looks
for one. Nothing here runs in a lane but the keeping of a point.
"""

from collections.abc import Iterable
from typing import NamedTuple

from holdfast.core import strict_json, types
from holdfast.core.errors import Corrupt
from holdfast.core.event_bodies import StateUpdated, read
from holdfast.store.engine import Tx
from holdfast.store.log.log_reader import (
    COLUMNS,
    STRETCH_BYTES,
    Head,
    checked,
    count_within,
    erased_since,
    existing_head,
)
from holdfast.store.log.projection import NO_PATCH, StateFacts, patched
from holdfast.store.part import Workers

STEP = 1_000
PATCH_COST = 512
"""What a patch costs beside its bytes."""
LEAST = 64 * 1024
"""The cost from which a point is kept, however small the document."""

PUT = """
    INSERT INTO state_points (session_no, seq, version, updated_at, document) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (session_no, seq) DO NOTHING"""
LAST = """
    SELECT seq, version, updated_at, document FROM state_points
    WHERE session_no = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT 1"""
NEXT = """
    SELECT seq, version, updated_at, document FROM state_points
    WHERE session_no = ?1 AND seq > ?2 ORDER BY seq LIMIT 1"""
DROP = """
    DELETE FROM state_points WHERE session_no = ?1 AND seq IN (
      SELECT seq FROM state_points WHERE session_no = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3)"""
IS_PATCH = f"""
    SELECT 1 FROM transcript_event_identities
    WHERE session_no = ?1 AND type = '{types.STATE_UPDATED}' AND seq = ?2"""
ANY = "SELECT 1 FROM state_points WHERE session_no = ?1 AND seq >= ?2 LIMIT 1"
SOURCE = f"""
    FROM transcript_event_identities i
    JOIN transcript_events e ON e.session_no = i.session_no + 0 AND e.seq = i.seq
    LEFT JOIN transcript_events p ON p.session_no = e.session_no + 0 AND p.seq = e.seq - 1
    WHERE i.session_no = ?1 AND i.type = '{types.STATE_UPDATED}' AND i.seq > ?2 AND i.seq <= ?3
    ORDER BY i.seq LIMIT ?4"""
"""The type is written out, because only then does the index of the patches serve; the zeros are as in `log_reader`."""
PATCHES = f"SELECT {COLUMNS} {SOURCE}"
SIZES = f"SELECT length(e.payload) {SOURCE}"


class StatePoint(NamedTuple):
    """The state as the patch at a seq left it, and what the patches since the last point cost."""

    seq: int = 0
    facts: StateFacts = StateFacts()
    cost: int = 0


def is_due(cost: int, size: int) -> bool:
    """Whether a point should be kept of a document of this size, after patches that cost so much."""
    return cost >= max(size, LEAST)


def keep(tx: Tx, session_no: int, seq: int, version: int, updated_at: int, document: bytes) -> None:
    """Keep a point."""
    tx.run(PUT, session_no, seq, version, updated_at, document)


def drop(tx: Tx, session_no: int, first_seq: int, most: int) -> bool:
    """Drop so many of the points from a seq on; whether there are more."""
    if tx.one(ANY, session_no, first_seq) is None:
        return False
    tx.run(DROP, session_no, first_seq, most)
    return True


def first_patch(tx: Tx, session_no: int, seqs: Iterable[int]) -> int | None:
    """The first of these seqs, which rise, that is a patch's, or None."""
    return next((seq for seq in seqs if tx.one(IS_PATCH, session_no, seq) is not None), None)


async def state_at(workers: Workers, lock: str, tenant: str, session_id: str, head: Head, seq: int) -> StateFacts:
    """The state as the patch at this seq left it; points are kept on a way that was long."""
    place = await workers.read(lambda tx: _last_point(tx, head, seq))
    while place.seq < seq:
        place = await workers.read(lambda tx, place=place: _go_on(tx, head, place, seq))  # type: ignore[misc]
        if place.cost < 2 * LEAST:
            continue
        document = strict_json.dump(place.facts.document)
        if is_due(place.cost, 2 * len(document)):
            await workers.write(lambda tx, kept=(place, document): _leave(tx, tenant, session_id, head, *kept), (lock,))  # type: ignore[misc]
            place = place._replace(cost=0)
    return place.facts


async def look_at(workers: Workers, head: Head, seq: int) -> StateFacts:
    """The same for whoever only looks: no point is kept."""
    place = await workers.read(lambda tx: _last_point(tx, head, seq))
    while place.seq < seq:
        place = await workers.read(lambda tx, place=place: _go_on(tx, head, place, seq))  # type: ignore[misc]
    return place.facts


async def check_points(workers: Workers, head: Head) -> None:
    """Corrupt if a point is not what the patches up to it say."""
    place = StatePoint()
    while (point := await workers.read(lambda tx, place=place: _next_point(tx, head, place.seq))) is not None:  # type: ignore[misc]
        while place.seq < point.seq:
            place = await workers.read(lambda tx, place=place, end=point.seq: _go_on(tx, head, place, end))  # type: ignore[misc]
        same = strict_json.canonical(place.facts.document) == strict_json.canonical(point.facts.document)
        if not same or (place.facts.version, place.facts.updated_at) != (point.facts.version, point.facts.updated_at):
            raise Corrupt(f"the state kept of event {point.seq} is not what the events say", seq=point.seq)


def _last_point(tx: Tx, head: Head, seq: int) -> StatePoint:
    row = tx.one(LAST, head.session_no, seq)
    return StatePoint() if row is None else _place(row)


def _next_point(tx: Tx, head: Head, after: int) -> StatePoint | None:
    row = tx.one(NEXT, head.session_no, after)
    return None if row is None else _place(row)


def _place(row: tuple[int, int, int, bytes]) -> StatePoint:
    seq, version, updated_at, document = row
    return StatePoint(seq, StateFacts(version, strict_json.parse_own(document), updated_at))


def _go_on(tx: Tx, head: Head, place: StatePoint, end: int) -> StatePoint:
    """The state some patches later, or at the end."""
    sizes = tx.all(SIZES, head.session_no, place.seq, end, STEP)
    wanted = count_within((size for (size,) in sizes), STRETCH_BYTES) or len(sizes)
    facts, cost, seq = place.facts, place.cost, place.seq
    for row in tx.all(PATCHES, head.session_no, place.seq, end, wanted):
        event = checked(row)
        body = NO_PATCH if event.erased is not None else read(event, StateUpdated)
        facts, cost, seq = patched(facts, body, event.created_at), cost + len(event.payload) + PATCH_COST, event.seq
    if seq < end and wanted == len(sizes) < STEP:
        raise Corrupt(f"event {end} is no patch of the state", seq=end)
    return StatePoint(seq, facts, cost)


def _leave(tx: Tx, tenant: str, session_id: str, head: Head, place: StatePoint, document: bytes) -> None:
    """Keep a point of what was derived, unless events were erased meanwhile: it may know too much."""
    existing_head(tx, tenant, session_id)
    if not erased_since(tx, head):
        keep(tx, head.session_no, place.seq, place.facts.version, place.facts.updated_at, document)
