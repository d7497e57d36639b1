"""Sizes of a store, its largest sessions, and which of the sessions that somebody asks for it has."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from holdfast.store.engine import Tx
from holdfast.store.health.damage import integrity
from holdfast.store.health.examination import Examination
from holdfast.store.health.finding import HealthState

MOST_LARGEST = 5
PAGE = 1_000
ENTRIES = """
    SELECT count(*) FROM session_entries k JOIN sessions s ON s.session_no = k.session_no
    WHERE k.tenant = ?1 AND s.life = 'live' AND (?2 = '' OR s.agent = ?2)"""
LARGEST = """
    SELECT session_id, head_seq, size_bytes FROM sessions WHERE tenant = ?1 AND life = 'live'
    ORDER BY size_bytes DESC, session_no LIMIT ?2"""
ROUTED = """
    SELECT s.session_id FROM session_entries k JOIN sessions s ON s.session_no = k.session_no
    WHERE k.tenant = ?1 AND k.key = ?2"""
HEAD = "SELECT head_seq, life FROM sessions WHERE tenant = ?1 AND session_id = ?2"


class LargeSession(NamedTuple):
    """One of the largest sessions."""

    session_id: str
    events: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """How much a store has, and whether its files are whole: `ok`, or what is wrong."""

    entries: int
    size_bytes: int | None
    log_bytes: int | None
    integrity: str
    largest: Sequence[LargeSession]


class KeptSession(NamedTuple):
    """What a store has of a session: where its log ends, if it is there, and where its keys route."""

    head: int | None
    deleted: bool
    routes: dict[str, str | None]


async def statistics(found: Examination, tenant: str, agent: str | None) -> StoreStatistics:
    """The sizes of a store, and of a tenant's sessions in it."""

    def look(tx: Tx) -> tuple[int, list[LargeSession]]:
        count = tx.one(ENTRIES, tenant, agent or "") or (0,)
        return count[0], [LargeSession(*row) for row in tx.all(LARGEST, tenant, MOST_LARGEST)]

    entries, largest = await found.read(look)
    whole = await integrity(found)
    size, log = _sizes(found.path)
    said = "ok" if whole.state is HealthState.OK else whole.reason
    return StoreStatistics(entries, size, log, said, largest)


async def kept_session(found: Examination, tenant: str, session_id: str, keys: Sequence[str]) -> KeptSession:
    """What the store has of a session."""

    def look(tx: Tx) -> KeptSession:
        row = tx.one(HEAD, tenant, session_id)
        routes = {key: tx.one(ROUTED, tenant, key) for key in keys}
        live = row is not None and row[1] == "live"
        return KeptSession(
            row[0] if row is not None and live else None,
            row is not None and not live,
            {key: None if route is None else route[0] for key, route in routes.items()},
        )

    return await found.read(look)


async def missing_sessions(found: Examination, tenant: str, session_ids: Sequence[str]) -> list[str]:
    """Those of the sessions that the store has never had."""
    missing: list[str] = []
    for begin in range(0, len(session_ids), PAGE):
        page = session_ids[begin : begin + PAGE]
        missing += await found.read(lambda tx, page=page: [each for each in page if tx.one(HEAD, tenant, each) is None])  # type: ignore[misc]
    return missing


def _sizes(path: Path | None) -> tuple[int | None, int | None]:
    """Of the database and of its log; None if they are a database server's."""
    if path is None:
        return None, None
    real = os.path.realpath(path)
    return _size(real), _size(f"{real}-wal")


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
