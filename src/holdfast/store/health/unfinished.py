"""What was begun and not finished: sessions, tasks, leases of the dead, and words that are not indexed yet."""

from holdfast.store.engine import Tx
from holdfast.store.health.examination import Examination
from holdfast.store.health.finding import HealthFinding, ok, warning
from holdfast.store.operators import checks
from holdfast.store.text.word_index import PLACE

PATIENCE_MS = 60_000
"""How long whoever is at work may take to see to it."""
STUCK_MS = 3_600_000
MOST_BEHIND = 1_000
INTERRUPTED = "SELECT count(*), max(session_id) FROM sessions WHERE life = 'live' AND status = 'interrupted'"
IN_MOTION = """
    SELECT count(*) FROM sessions s LEFT JOIN arrivals a ON a.session_no = s.session_no
    WHERE s.life IN ('arriving', 'leaving') AND coalesce(a.expires_at, s.updated_at) < ?1"""
RETURNING = "SELECT count(*) FROM returns WHERE expires_at < ?1"
ORPHANS = """
    SELECT count(*) FROM tasks t LEFT JOIN holders h ON h.holder = t.owner
    WHERE t.state IN ('submitted', 'working') AND (h.holder IS NULL OR h.expires_at <= ?1) AND t.updated_at <= ?2"""
STUCK = """
    SELECT count(*), max(s.session_id) FROM tasks t JOIN sessions s ON s.session_no = t.session_no
    JOIN holders h ON h.holder = t.owner
    WHERE t.state IN ('submitted', 'working') AND h.expires_at > ?1 AND t.updated_at <= ?2"""
EXPIRED = "SELECT count(*) FROM leases WHERE expires_at > 0 AND expires_at < ?1"
DEAD = "SELECT count(*) FROM holders WHERE holder <> ?2 AND expires_at < ?1"
BEHIND = "SELECT count(*) FROM (SELECT 1 FROM transcript_events e WHERE {after} LIMIT ?4) behind"


async def sessions(found: Examination) -> HealthFinding:
    """Sessions whose turn was cut off, and those that stay on their way in or out."""

    def look(tx: Tx) -> tuple[int, str, int]:
        cut, example = tx.one(INTERRUPTED) or (0, None)
        since = tx.now() - PATIENCE_MS
        moving, returning = tx.one(IN_MOTION, since) or (0,), tx.one(RETURNING, since) or (0,)
        return cut, str(example), moving[0] + returning[0]

    cut, example, moving = await found.read(look)
    if moving:
        return warning("sessions", f"{moving:,} sessions stay on their way in or out of the store", _serve(found))
    if cut:
        return warning(
            "sessions",
            f"{cut:,} sessions are interrupted: their last turn did not end, as in {example}",
            found.command("sessions ls --status interrupted"),
        )
    return ok("sessions", "none is interrupted, or on its way in or out")


async def tasks(found: Examination) -> HealthFinding:
    """Tasks that nobody answers for, and those that do not move."""

    def look(tx: Tx) -> tuple[int, int, str]:
        now = tx.now()
        since = now - PATIENCE_MS if found.server is not None else now
        orphans = tx.one(ORPHANS, now, since) or (0,)
        stuck, example = tx.one(STUCK, now, now - STUCK_MS) or (0, None)
        return orphans[0], stuck, str(example)

    orphans, stuck, example = await found.read(look)
    if orphans:
        return warning("tasks", f"{orphans:,} tasks run, and nobody answers for them", _serve(found))
    if stuck:
        return warning(
            "tasks",
            f"{stuck:,} tasks have not moved for an hour, as in session {example}",
            found.command(f"sessions show {example}"),
        )
    return ok("tasks", "every task that runs has an owner")


async def leases(found: Examination) -> HealthFinding:
    """Leases and owners whose time is over, which nobody has taken away."""

    def look(tx: Tx) -> tuple[int, int]:
        since = tx.now() - PATIENCE_MS
        held = tx.one(EXPIRED, since) or (0,)
        dead = tx.one(DEAD, since, checks.NAME) or (0,)
        return held[0], dead[0]

    held, dead = await found.read(look)
    if held or dead:
        return warning(
            "leases",
            f"{held:,} leases and {dead:,} owners have expired; the next writer of a session takes its lease",
            _serve(found) if found.path is None or found.server else found.command("doctor --fix"),
        )
    return ok("leases", "none is left by the dead")


async def search(found: Examination) -> HealthFinding:
    """How far the index of words is behind the log."""
    sql = BEHIND.format(after=found.store.verification.engine.text.after)

    def look(tx: Tx) -> int:
        row = tx.one(sql, *(tx.one(PLACE) or (0, 0, 0)), MOST_BEHIND)
        return int(row[0]) if row else 0

    behind = await found.read(look)
    if behind >= MOST_BEHIND:
        return warning("search", f"{behind:,} events or more are not found by their words yet", _serve(found))
    return ok("search", f"{behind:,} events wait for their turn" if behind else "every event is found by its words")


def _serve(found: Examination) -> str:
    return "restart the gateway" if found.server is not None else found.command("serve")
