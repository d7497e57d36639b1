"""What the proof leaves in the database: row by row what a deletion leaves by design, and that nothing else differs."""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from holdfast.core import strict_json
from holdfast.prove.live.claims import require
from holdfast.prove.live.database import Look, Row

BY_DESIGN = {
    "sessions": "tombstone: the id is never used again",
    "session_routes": "route history: every session that a key has routed to",
    "transcript_events": "the event that says that the session was deleted, for the feeds",
    "transcript_event_identities": "the identity of that event",
    "archives": "archive: what the log was, and why it was deleted",
    "archived_events": "archive: the events, until they are purged",
    "usage": "usage: a tenant's totals outlive its sessions",
    "attachment_uses": "archive: the bytes that its events name",
    "audit": "audit: who deleted and exported what",
}
UPKEEP = frozenset({"holders", "owner", "servers", "duties", "search_progress", "epochs", "event_days"})
"""What the gateway writes by itself while it runs, whoever asks it for what."""
NUMBER = "session_no"

WholeStore = dict[str, Counter[str]]


def left(look: Look, numbers: Sequence[int], session_ids: Sequence[str], since: int) -> list[dict[str, Any]]:
    """Every row that is there because of these sessions; ClaimBroken if a deletion does not leave such rows."""
    found: list[dict[str, Any]] = []
    for table in look.tables():
        for row in _rows_of(look, table, numbers, session_ids, since):
            require(
                table in BY_DESIGN,
                "what a deletion leaves",
                f"{table} still has rows of the proof",
                expected=", ".join(BY_DESIGN),
                got=table,
            )
            found.append({"table": table, "why": BY_DESIGN[table], "row": told(row)})
    return found


def told(row: Row) -> dict[str, Any]:
    """A row for the evidence: bytes as their SHA-256."""
    return {name: _told(value) for name, value in row.items()}


def whole(look: Look) -> WholeStore:
    """Every row of every table, as its hash; what the gateway writes by itself is left out."""
    return {
        table: Counter(f"{row.get(NUMBER)} {_hash(row)}" for row in look.rows(f"SELECT * FROM {table}"))
        for table in look.tables()
        if table not in UPKEEP
    }


def check_nothing_else(before: WholeStore, after: WholeStore, look: Look, ours: Sequence[dict[str, Any]]) -> None:
    """ClaimBroken if a row came, went or changed that is not among those that a deletion leaves."""
    by_design: dict[str, Counter[str]] = {}
    for table in {each["table"] for each in ours}:
        rows = [each["row"] for each in ours if each["table"] == table]
        by_design[table] = Counter(strict_json.canonical(row).decode() for row in rows)
    for table in sorted({*before, *after}):
        gone = before.get(table, Counter()) - after.get(table, Counter())
        came = after.get(table, Counter()) - before.get(table, Counter())
        extra = came.total() - _come_by_design(look, table, came, by_design.get(table, Counter()))
        require(
            not gone and not extra,
            "nothing else differs",
            f"{table} has rows that are not the proof's and are not what they were",
            expected="the rows from before, and those that a deletion leaves",
            got=f"{gone.total()} gone or changed, {extra} new",
        )


def _come_by_design(look: Look, table: str, came: Counter[str], by_design: Counter[str]) -> int:
    """How many of the new rows are those that a deletion leaves."""
    if not by_design:
        return 0
    rows = look.rows(f"SELECT * FROM {table}")
    new = [row for row in rows if f"{row.get(NUMBER)} {_hash(row)}" in came]
    return sum(1 for row in new if strict_json.canonical(told(row)).decode() in by_design)


def _rows_of(look: Look, table: str, numbers: Sequence[int], session_ids: Sequence[str], since: int) -> list[Row]:
    if table == "audit":
        entries = look.rows("SELECT * FROM audit WHERE created_at >= ?", since)
        return [row for row in entries if any(each in row["target"] for each in session_ids)]
    sample = look.rows(f"SELECT * FROM {table} LIMIT 1")
    if not sample or NUMBER not in sample[0]:
        return []
    marks = ", ".join("?" * len(numbers))
    return look.rows(f"SELECT * FROM {table} WHERE {NUMBER} IN ({marks})", *numbers)


def _hash(row: Row) -> str:
    return sha256(strict_json.encode(told(row))).hexdigest()


def _told(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return {"sha256": sha256(value).hexdigest()}
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
