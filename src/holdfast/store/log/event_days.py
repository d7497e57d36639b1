"""How many events there were on each day: counted by a chore that follows the log, in no writer's time.

A step counts the next events in the store's order, in one transaction with the place that it has reached, so each event
is counted once. What was counted outlives the session: it happened that day. Events that an older transaction can still
slip in before (PostgreSQL) are counted when none can.
"""

from collections import Counter
from typing import NamedTuple

from holdfast.store.engine import TextSql, Tx
from holdfast.store.log.projection import DAY_MS

STEP_EVENTS = 2_000
PLACE = "SELECT epoch, major, minor FROM search_progress WHERE name = 'event_days'"
MOVE = "UPDATE search_progress SET epoch = ?1, major = ?2, minor = ?3 WHERE name = 'event_days'"
NEXT = f"""
    SELECT {{place}}, coalesce(s.tenant, ''), e.created_at
    FROM transcript_events e LEFT JOIN sessions s ON s.session_no = e.session_no
    WHERE {{between}} ORDER BY {{order}} LIMIT {STEP_EVENTS}"""
ADD = """
    INSERT INTO event_days (tenant, day, events) VALUES (?1, ?2, ?3)
    ON CONFLICT (tenant, day) DO UPDATE SET events = event_days.events + excluded.events"""
DAYS = "SELECT day, events FROM event_days WHERE tenant = ?1 AND day >= ?2"


class _TenantDay(NamedTuple):
    tenant: str
    day: int


def count_days(tx: Tx, text: TextSql) -> bool:
    """Count the next events; False if none was left. For whoever holds the lock of the index of words."""
    place, safe = tx.one(PLACE), tx.one(text.safe)
    if place is None or safe is None:
        return False
    rows = tx.all(NEXT.format(place=text.place, between=text.between, order=text.order), *place, *safe)
    if not rows:
        return False
    counted = Counter(_TenantDay(tenant, created_at // DAY_MS) for *_, tenant, created_at in rows)
    tx.run_many(ADD, [(each.tenant, each.day, number) for each, number in sorted(counted.items())])
    tx.run(MOVE, *rows[-1][:3])
    return True


def events_by_day(tx: Tx, tenant: str, first_day: int) -> dict[int, int]:
    """How many events a tenant had on each day since 1970, from a day on; days without any are left out."""
    return dict(tx.all(DAYS, tenant, first_day))
