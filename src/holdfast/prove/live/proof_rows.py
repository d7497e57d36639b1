"""What the rows say of sessions: their own row, their log, their keys, how many rows each table has of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core import strict_json
from holdfast.core.clock import to_iso
from holdfast.prove.live.claims import digest
from holdfast.prove.live.database import Look, Row

COUNTED = ("sessions", "session_entries", "transcript_events", "transcript_event_identities", "session_routes")
LINEAGE = ("parentSession", "forkedFrom", "previousSession", "nextSession")
MESSAGE = "message"
HASH_LENGTH = 32
"""Bytes of a hash in the chain. The proof says so itself, because it shares no code with the store that it looks at."""
"""Bytes: a log that has no event ends with so many zeros."""
TAIL = 50
"""Messages of a history that are compared, which is what the gateway shows unless it is asked for more."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message, in a history or in a row: where it is, who said it, and what stands for its words."""

    seq: int
    role: str
    message_id: str
    words: str


def counts(look: Look) -> dict[str, int]:
    """How many rows the counted tables have."""
    return {table: look.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"] for table in COUNTED}


def counts_of(look: Look, numbers: Sequence[int]) -> dict[str, int]:
    """How many of them belong to these sessions."""
    return {table: len(rows_of(look, table, numbers)) for table in COUNTED}


def rows_of(look: Look, table: str, numbers: Sequence[int], columns: str = "session_no") -> list[Row]:
    """The rows of a table that belong to these sessions."""
    return (
        look.rows(f"SELECT {columns} FROM {table} WHERE session_no IN ({marks(numbers)})", *numbers) if numbers else []
    )


def numbers_of(look: Look, keys: Sequence[str], session_ids: Iterable[str]) -> list[int]:
    """The numbers of the sessions with these ids, and of all that these keys ever routed to."""
    named = list(session_ids)
    found = look.rows(f"SELECT session_no FROM session_routes WHERE key IN ({marks(keys)})", *keys)
    if named:
        found += look.rows(f"SELECT session_no FROM sessions WHERE session_id IN ({marks(named)})", *named)
    return sorted({row["session_no"] for row in found})


def session(look: Look, session_id: str, tenant: str | None = None) -> Row | None:
    """The row of a session, whatever its life; None if there is none. Only a tenant's own have ids of which each is
    used once; those of the proof are nobody else's in any."""
    found = look.rows("SELECT * FROM sessions WHERE session_id = ?", session_id)
    return next((row for row in found if tenant in (None, row["tenant"])), None)


def session_on(look: Look, key: str) -> Row | None:
    """The row of the session that a key routes to now; None if it routes nowhere."""
    found = look.rows(
        "SELECT s.* FROM session_entries e JOIN sessions s ON s.session_no = e.session_no WHERE e.key = ?", key
    )
    return found[0] if found else None


def routes(look: Look, key: str) -> list[Row]:
    """Every session that a key has routed to, oldest first."""
    return look.rows(
        "SELECT s.session_id, r.started_at, r.ended_at FROM session_routes r "
        "JOIN sessions s ON s.session_no = r.session_no WHERE r.key = ? ORDER BY r.started_at, s.session_no",
        key,
    )


def log(look: Look, number: int) -> list[Row]:
    """A session's events, oldest first, each with its identity, whose columns are null where there is none."""
    return look.rows(
        "SELECT e.seq, e.event_id, e.created_at, e.hash, e.payload, i.seq AS identity_seq, i.type "
        "FROM transcript_events e "
        "LEFT JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no "
        "WHERE e.session_no = ? ORDER BY e.seq",
        number,
    )


def tail(look: Look, number: int, most: int = TAIL) -> list[Said]:
    """The newest messages in a session's log, oldest first."""
    found = look.rows(
        "SELECT e.seq, e.payload FROM transcript_events e JOIN transcript_event_identities i "
        "ON i.event_id = e.event_id AND i.session_no = e.session_no "
        f"WHERE e.session_no = ? AND i.type = ? ORDER BY e.seq DESC LIMIT {most}",
        number,
        MESSAGE,
    )
    said = [said_in(row["seq"], row["payload"]) for row in reversed(found)]
    return [each for each in said if each is not None]


def said_in(seq: int, payload: bytes) -> Said | None:
    """The message in an event's payload; None if it has another shape, as an imported one may have."""
    found = strict_json.parse_own(bytes(payload))
    parts = found.get("parts") if isinstance(found, dict) else None
    if not isinstance(parts, list):
        return None
    words = "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
    return Said(seq, str(found.get("role")), str(found.get("messageId")), digest(words))


def shown(row: Row) -> dict[str, Any]:
    """A session's row as the API shows it."""
    document = strict_json.parse_own(bytes(row["document"]))
    return {
        "sessionId": row["session_id"],
        "agent": row["agent"],
        "userId": row["user_id"],
        "status": row["status"],
        "createdAt": to_iso(row["created_at"]),
        "updatedAt": to_iso(row["updated_at"]),
        "headSeq": row["head_seq"],
        "headHash": bytes(row["head_hash"]).hex(),
        "tags": document.get("tags", []),
        "metadata": document.get("metadata", {}),
        "lineage": {name: document[name] for name in LINEAGE if name in document},
        "held": bool(row["held"]),
        "sizeBytes": row["size_bytes"],
    }


def marks(values: Sequence[object]) -> str:
    """A placeholder for each value."""
    return ", ".join("?" * len(values))


def end_of(log: Sequence[Row]) -> tuple[int, bytes]:
    """The seq and the hash that a log ends with; a turn that was cut before its message leaves an empty one."""
    return (int(log[-1]["seq"]), bytes(log[-1]["hash"])) if log else (0, bytes(HASH_LENGTH))
