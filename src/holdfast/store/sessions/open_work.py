"""What waits for somebody, counted over all sessions of a tenant: each count is as long as what it counts, by an
index of its own."""

from dataclasses import dataclass

from holdfast.store.engine import Tx

WAITING = """
    SELECT count(*) FROM tasks t JOIN sessions s ON s.session_no = t.session_no
    WHERE t.tenant = ?1 AND t.state = 'input-required' AND s.life = 'live'"""
UNRESOLVED = """
    SELECT count(*), min(e.session_no) FROM tool_effects e JOIN sessions s ON s.session_no = e.session_no
    LEFT JOIN leases l ON l.session_no = e.session_no
    WHERE e.status = 'started' AND s.tenant = ?1 AND s.life = 'live' AND coalesce(l.expires_at, 0) <= ?2"""
SESSION = "SELECT session_id FROM sessions WHERE session_no = ?1"
ARCHIVED = "SELECT count(*) FROM archives WHERE tenant = ?1 AND state <> 'purged'"


@dataclass(frozen=True, slots=True)
class OpenWork:
    """Tasks that wait for an answer, effects of tools that nobody is at any more, the session that began first of those
    that have one, and sessions in the archive."""

    waiting_tasks: int
    unresolved_effects: int
    unresolved_session: str | None
    archives: int


def open_work(tx: Tx, tenant: str) -> OpenWork:
    """What there is of a tenant's; an effect whose session somebody has the lease of may still be under way."""
    (waiting,) = tx.one(WAITING, tenant) or (0,)
    unresolved, number = tx.one(UNRESOLVED, tenant, tx.now()) or (0, None)
    found = None if number is None else tx.one(SESSION, number)
    (archived,) = tx.one(ARCHIVED, tenant) or (0,)
    return OpenWork(waiting, unresolved, None if found is None else found[0], archived)
