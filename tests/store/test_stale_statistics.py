"""A long session that PostgreSQL's statistics do not know yet is read by its index, not all of it for each event."""

import re

import psycopg
import pytest

from holdfast.store import NewEvent, open_store
from holdfast.store.log import log_reader, replay

EVENTS = 2_000
KNOWN_BY_ID = replay.KNOWN.format(column="event_id", marks="?2, ?3", payload=replay.PAYLOAD)
KNOWN_BY_KEY = replay.KNOWN.format(column="idempotency_key", marks="?2, ?3", payload=replay.PAYLOAD)


def named(session_id: str) -> list[NewEvent]:
    """Many events with names of their own."""
    return [NewEvent("number", {"n": n}, event_id=f"{session_id}-e{n}", idempotency_key=f"k{n}") for n in range(EVENTS)]


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (log_reader.FORWARD, ("100", "1900", "500")),
        (log_reader.BACKWARD, ("100", "1900", "500")),
        (KNOWN_BY_ID, ("'new-e7'", "'new-e1900'")),
        (KNOWN_BY_KEY, ("'k7'", "'k1900'")),
    ],
    ids=["forward", "backward", "known by id", "known by key"],
)
async def test_no_row_is_read_in_vain(postgres_url: str, statement: str, values: tuple[str, ...]) -> None:
    async with await open_store(postgres_url) as store:
        with psycopg.connect(postgres_url, autocommit=True) as database:
            for table in ("transcript_events", "transcript_event_identities"):
                database.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
            await store.append("known", named("known"))
            database.execute("ANALYZE")
            await store.append("new", named("new"))
            (number,) = database.execute("SELECT session_no FROM sessions WHERE session_id = 'new'").fetchall()[0]
            given = {str(place): value for place, value in enumerate((str(number), *values), 1)}
            plain = re.sub(r"\?(\d)", lambda mark: given[mark[1]], statement)
            plan = [row[0] for row in database.execute(f"EXPLAIN (ANALYZE) {plain}")]
    assert not [line for line in plan if "Rows Removed" in line], "\n".join(plan)
