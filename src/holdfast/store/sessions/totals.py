"""SessionTotals over a tenant's sessions: how many, in which status, how much, begun when."""

from dataclasses import dataclass

from holdfast.store.engine import Tx

BY_STATUS = """
    SELECT status, count(*), CAST(sum(head_seq) AS BIGINT), CAST(sum(size_bytes) AS BIGINT)
    FROM sessions WHERE tenant = ?1 AND life = 'live' GROUP BY status ORDER BY status"""
BY_DAY = """
    SELECT created_at / 86400000, count(*) FROM sessions
    WHERE tenant = ?1 AND life = 'live' AND created_at >= ?2 * 86400000
    GROUP BY created_at / 86400000 ORDER BY created_at / 86400000"""


@dataclass(frozen=True, slots=True)
class SessionTotals:
    """How many sessions there are, by status, and what they hold."""

    by_status: dict[str, int]
    events: int
    size_bytes: int

    @property
    def sessions(self) -> int:
        """All of them."""
        return sum(self.by_status.values())


def totals(tx: Tx, tenant: str) -> SessionTotals:
    """The totals of what is there now."""
    rows = tx.all(BY_STATUS, tenant)
    return SessionTotals({row[0]: row[1] for row in rows}, sum(row[2] for row in rows), sum(row[3] for row in rows))


def begun_by_day(tx: Tx, tenant: str, first_day: int) -> dict[int, int]:
    """How many sessions began on each day since 1970, from a day on; days without any are left out."""
    return {row[0]: row[1] for row in tx.all(BY_DAY, tenant, first_day)}
