"""The clock: whether events are from the future, and whether it was set back while they were written."""

from itertools import pairwise

from holdfast.core import SystemClock
from holdfast.core.clock import to_iso
from holdfast.store.engine import Tx
from holdfast.store.health.examination import Examination
from holdfast.store.health.finding import HealthFinding, ok, warning

APART_MS = 60_000
"""By how much times may differ."""
NEWEST_EVENTS = 1_000
FUTURE = "SELECT count(*), coalesce(max(updated_at), 0) FROM sessions WHERE life = 'live' AND updated_at > ?1"
TIMES = """
    SELECT e.created_at FROM (
      SELECT session_no, seq, pos, created_at FROM transcript_events ORDER BY pos DESC LIMIT ?1) e
    JOIN sessions s ON s.session_no = e.session_no WHERE e.seq > s.copied_seq ORDER BY e.pos"""
MEND = "timedatectl set-ntp true"


async def clock(found: Examination) -> HealthFinding:
    """Compare this machine's clock with the store's times, and with the database server's clock."""
    now = SystemClock().now()

    def look(tx: Tx) -> tuple[int, tuple[int, int], list[int]]:
        future = tx.one(FUTURE, now + APART_MS)
        assert future is not None
        return tx.now(), (future[0], future[1]), [row[0] for row in tx.all(TIMES, NEWEST_EVENTS)]

    theirs, (ahead, latest), times = await found.read(look)
    if abs(theirs - now) > APART_MS:
        return warning("clock", f"the database server's clock differs by {abs(theirs - now) / 1000:.0f} s", MEND)
    if ahead:
        return warning("clock", f"{ahead:,} sessions have events from the future, up to {to_iso(latest)}", MEND)
    back = max((before - after for before, after in pairwise(times)), default=0)
    if back > APART_MS:
        return warning("clock", f"the clock was set back by {back / 1000:.0f} s within the newest events", MEND)
    return ok("clock", "no event is from the future, and the newest are in order")
