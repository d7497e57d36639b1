"""The index of words: it follows the log in steps, and forgets what is deleted.

A step takes the next events in the store's order, in one transaction with the place it has reached, so nothing is
indexed twice or left out. PostgreSQL shows events that an older transaction can still slip in before: they are indexed
at once, but the place stays before them. Those of an earlier epoch (see `postgres.epochs`) come before all later ones.
A payload that cannot be read has no words and stops nothing, and of a large one only the beginning is read, so that no
step takes long.
"""

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

from holdfast.store.engine import TextSql, Tx
from holdfast.store.lanes.chores import Chore
from holdfast.store.log.event_days import count_days
from holdfast.store.text.tokenizer import MAX_READ, Query, document, texts
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

LOCK = "search"
STEP_EVENTS = 200
STEP_BYTES = 64 * 1024

PLACE = "SELECT epoch, major, minor FROM search_progress WHERE name = 'events'"
MOVE = "UPDATE search_progress SET epoch = ?1, major = ?2, minor = ?3 WHERE name = 'events'"
PENDING = f"""
    SELECT b.epoch, b.major, b.pos, e.session_no, coalesce(s.tenant, ''), e.erased IS NULL,
      substr(e.payload, 1, {MAX_READ})
    FROM (
      SELECT a.epoch, a.major, a.pos, sum(a.size) OVER (ORDER BY a.epoch, a.major, a.pos) - a.size AS ahead
      FROM (
        SELECT {{place}}, length(e.payload) AS size
        FROM transcript_events e WHERE {{after}} ORDER BY {{order}} LIMIT {STEP_EVENTS}) a) b
    JOIN transcript_events e ON e.pos = b.pos
    LEFT JOIN sessions s ON s.session_no = e.session_no
    WHERE b.ahead < {STEP_BYTES} ORDER BY b.epoch, b.major, b.pos"""
BEHIND = "SELECT 1 FROM transcript_events e WHERE {after} LIMIT 1"
PUT = "INSERT INTO {table} (rowid, words) VALUES (?1, ?2)"
DROP = "DELETE FROM {table} WHERE rowid = ?1"
DROP_EVENTS = """
    DELETE FROM event_text WHERE rowid IN (
      SELECT pos FROM transcript_events WHERE session_no = ?1 AND seq BETWEEN ?2 AND ?3)"""
SCRUBS = "SELECT name, major FROM search_progress WHERE name IN ('event_text', 'memory_text')"
ASK_SCRUB = """
    INSERT INTO search_progress (name, major, minor) VALUES (?1, 0, 0)
    ON CONFLICT (name) DO UPDATE SET major = 0"""
BEGIN_SCRUB = "UPDATE search_progress SET major = 1 WHERE name = ?1"
END_SCRUB = "DELETE FROM search_progress WHERE name = ?1"
CHANGES = "SELECT total_changes()"
MATCH_MEMORIES = """
    SELECT m.memory_no FROM memory_text t CROSS JOIN memories m
    WHERE {matches} AND m.memory_no = t.rowid AND t.rowid < ?2 AND m.tenant = ?3 AND m.live = 1 {narrower}
    ORDER BY t.rowid DESC LIMIT ?4"""


class IndexPlace(NamedTuple):
    """Where an event is in the store's order."""

    epoch: int
    major: int
    minor: int


def session_scope(session_no: int) -> str:
    """The mark of a session's events in the index; never a word."""
    return f"§{session_no}"


def tenant_scope(tenant: str) -> str:
    """The mark of a tenant's rows in the index; it only narrows, two tenants may share one."""
    return f"¤{crc32(tenant.encode()):08x}"


def index(tx: Tx, text: TextSql) -> IndexPlace | None:
    """Index the next events; the place reached, or None if none was left (or another process is at it)."""
    if not tx.try_lock(LOCK):
        return None
    place = _place(tx, PLACE)
    safe = _place(tx, text.safe)
    rows = tx.all(PENDING.format(place=text.place, after=text.after, order=text.order), *place)
    if rows:
        tx.run_many(
            PUT.format(table="event_text"),
            [
                (pos, _stored(text, payload if readable else b"", session_scope(session_no), tenant_scope(tenant)))
                for *_, pos, session_no, tenant, readable, payload in rows
            ],
        )
    reached = IndexPlace(*rows[-1][:3]) if rows else None
    known = safe if reached is None else min(reached, safe)
    if known > place:
        tx.run(MOVE, *known)
    return reached


def behind(tx: Tx, text: TextSql) -> IndexPlace | None:
    """The last event's place if some event that can be seen is not indexed yet, else None."""
    if tx.one(BEHIND.format(after=text.after), *_place(tx, PLACE)) is None:
        return None
    return _place(tx, text.newest)


def index_chore(text: TextSql, tuning: StoreTuning = DEFAULT_TUNING) -> Chore:
    """What an idle lane does: index what has come and count it by day, then scrub what was forgotten."""

    def index_step(tx: Tx) -> bool:
        if not tx.try_lock(LOCK):
            return False
        more = index(tx, text) is not None
        return count_days(tx, text) or more or _scrub(tx, text, tuning.merge_pages)

    return index_step


def forget_events(tx: Tx, session_no: int, first_seq: int, last_seq: int) -> None:
    """Take events out of the index, whether they are in it yet or not; call it while they are still in the log."""
    tx.lock(LOCK)
    tx.run(DROP_EVENTS, session_no, first_seq, last_seq)


def forget_event(tx: Tx, text: TextSql, session_no: int, seq: int) -> None:
    """Take an event that is being erased out of the index, and its words out of the file, in an idle lane's steps."""
    forget_events(tx, session_no, seq, seq)
    ask_scrub(tx, text, "event_text")


def index_memory(tx: Tx, text: TextSql, tenant: str, memory_no: int, value: bytes) -> None:
    """Index a memory's current value (JSON bytes) in place of the one before."""
    tx.run(DROP.format(table="memory_text"), memory_no)
    tx.run(PUT.format(table="memory_text"), memory_no, _stored(text, value, tenant_scope(tenant)))


def unindex_memory(tx: Tx, text: TextSql, memory_no: int, *, scrub: bool = False) -> None:
    """Take a memory out of the index; with `scrub` its words also go from the file, in steps."""
    tx.run(DROP.format(table="memory_text"), memory_no)
    if scrub:
        ask_scrub(tx, text, "memory_text")


def match_memories(
    tx: Tx,
    text: TextSql,
    tenant: str,
    query: Query,
    *,
    namespace: str | None = None,
    before: int = 2**63 - 1,
    limit: int = 20,
) -> list[int]:
    """The `memory_no` of the tenant's live memories that match, below `before`, the last made first."""
    narrower: tuple[str, Sequence[str]] = ("", ()) if namespace is None else ("AND m.namespace = ?5", (namespace,))
    sql = MATCH_MEMORIES.format(matches=text.matches, narrower=narrower[0])
    rows = tx.all(sql, text.query(query, tenant_scope(tenant)), before, tenant, limit, *narrower[1])
    return [row[0] for row in rows]


def ask_scrub(tx: Tx, text: TextSql, table: str) -> None:
    """See to it that words deleted from this table leave the file, in an idle lane's steps."""
    if text.merge is not None:
        tx.run(ASK_SCRUB, table)


def _scrub(tx: Tx, text: TextSql, pages: int) -> bool:
    """Rewrite a piece of each index that has deleted words in it; False if there is none."""
    if text.merge is None:
        return False
    scrubs = tx.all(SCRUBS)
    for table, begun in scrubs:
        before = tx.one(CHANGES)
        tx.run(text.merge.format(table=table), pages if begun else -pages)
        after = tx.one(CHANGES)
        assert before is not None and after is not None
        if not begun:
            tx.run(BEGIN_SCRUB, table)
        elif after[0] - before[0] < 2:  # the command itself counts as one
            tx.run(END_SCRUB, table)
            tx.leave_no_trace()
    return bool(scrubs)


def _stored(text: TextSql, payload: bytes, *scopes: str) -> str:
    return text.document(document(texts(payload)), scopes)


def _place(tx: Tx, sql: str) -> IndexPlace:
    row = tx.one(sql)
    return IndexPlace(0, 0, 0) if row is None else IndexPlace(*row)
