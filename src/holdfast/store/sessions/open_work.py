"""What waits for somebody, counted over all sessions of a tenant: each count is as long as what it counts, by an
index of its own."""

from dataclasses import dataclass

from holdfast.store.engine import Tx

WAITING = """
    SELECT count(*) FROM tasks t JOIN sessions s ON s.session_no = t.session_no
    WHERE t.tenant = ?1 AND t.state = 'input-required' AND s.life = 'live'"""
UNRESOLVED = """
    SELECT count(*) FROM tool_effects e JOIN sessions s ON s.session_no = e.session_no
    LEFT JOIN leases l ON l.session_no = e.session_no
    WHERE e.status = 'started' AND s.tenant = ?1 AND s.life = 'live' AND coalesce(l.expires_at, 0) <= ?2"""
ARCHIVED = "SELECT count(*) FROM archives WHERE tenant = ?1 AND state <> 'purged'"


@dataclass(frozen=True, slots=True)
class OpenWork:
    """Tasks that wait for an answer, effects of tools that nobody is at any more, and sessions in the archive."""

    waiting_tasks: int
    unresolved_effects: int
    archives: int


def open_work(tx: Tx, tenant: str) -> OpenWork:
    """What there is of a tenant's; an effect whose session somebody has the lease of may still be under way."""
    asked = ((WAITING, tenant), (UNRESOLVED, tenant, tx.now()), (ARCHIVED, tenant))
    counts = [tx.one(sql, *given) or (0,) for sql, *given in asked]
    return OpenWork(*(int(count[0]) for count in counts))
