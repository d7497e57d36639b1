"""Damage: what the engine finds in its own files, and whether every session is what was written.

Beside a server both are bounded: a look that lasts keeps its log from being emptied.
"""

import asyncio
import random
import time

from holdfast.core.errors import NotFound, ReadTimeout, SessionGone
from holdfast.store.engine import Row, Tx
from holdfast.store.health.examination import Examination
from holdfast.store.health.finding import HealthFinding, failed, ok, unknown

QUICK_SECONDS = 5.0
SAMPLE = 50
"""Sessions that are verified beside a server: half of them the newest."""
CHECKSUMS = "SELECT current_setting('data_checksums')"
SOME = """
    SELECT tenant, session_id FROM sessions WHERE life = 'live' AND session_no >= ?1 ORDER BY session_no LIMIT 1"""
NEWEST = "SELECT tenant, session_id FROM sessions WHERE life = 'live' ORDER BY session_no DESC LIMIT ?1"
RANGE = "SELECT coalesce(min(session_no), 0), coalesce(max(session_no), 0), count(*) FROM sessions WHERE life = 'live'"


async def integrity(found: Examination) -> HealthFinding:
    """SQLite's own check of its file, quick beside a server; PostgreSQL looks after its files itself."""
    name = "integrity"
    if found.path is None:
        row = await found.read(lambda tx: tx.one(CHECKSUMS))
        if row == ("on",):
            return ok(name, "the database server checks its pages when it reads them")
        return unknown(
            name, "the database server keeps no checksums of its pages", "pg_checksums --enable, while it is stopped"
        )
    quick = found.server is not None
    try:
        problems = await asyncio.to_thread(found.store.verification.engine.check, QUICK_SECONDS if quick else None)
    except ReadTimeout:
        return unknown(
            name,
            f"the quick check was not done within {QUICK_SECONDS:.0f} s",
            "stop the gateway and run this again, or check a backup",
        )
    if not quick and not problems:
        problems = [f"session {stray.session_id} {stray.problem}" for stray in await found.store.verification.strays()]
    if problems:
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        return failed(name, f"{problems[0]}{more}", "holdfast db restore BACKUP --data NEW-FOLDER")
    return ok(name, "a quick check of the file found nothing" if quick else "the whole file was checked")


async def chain(found: Examination) -> HealthFinding:
    """Derive sessions again from their logs: all of them, or a sample beside a server."""
    count, chosen = await found.read(_chosen)
    seen, bad = await (_all(found) if found.server is None else _sample(found, chosen))
    if bad:
        return failed("chain", "; ".join(bad[:3]), found.command("sessions verify"))
    return ok("chain", f"{seen:,} of {count:,} sessions are what was written")


def _chosen(tx: Tx) -> tuple[int, set[Row]]:
    """How many sessions there are, and some of them: the newest, and others by chance."""
    first, last, count = tx.one(RANGE) or (0, 0, 0)
    newest = tx.all(NEWEST, SAMPLE // 2)
    others = (tx.one(SOME, random.randint(first, last)) for _ in newest)
    return count, {*newest, *(row for row in others if row is not None)}


async def _all(found: Examination) -> tuple[int, list[str]]:
    seen, bad = 0, []
    for tenant in await found.store.verification.tenants():
        async for verdict in found.store.for_tenant(tenant).verification.every():
            seen += 1
            if verdict.problem is not None:
                bad.append(f"{verdict.session_id}: {verdict.problem}")
    return seen, bad


async def _sample(found: Examination, chosen: set[Row]) -> tuple[int, list[str]]:
    seen, bad, end = 0, [], time.monotonic() + QUICK_SECONDS
    for tenant, session_id in sorted(chosen):
        if time.monotonic() > end:
            break
        try:
            verdict = await found.store.for_tenant(tenant).verification.session(session_id)
        except (NotFound, SessionGone):
            continue
        seen += 1
        if verdict.problem is not None:
            bad.append(f"{session_id}: {verdict.problem}")
    return seen, bad
