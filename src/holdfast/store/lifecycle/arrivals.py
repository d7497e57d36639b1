"""Sessions that arrive in steps: forks and imports.

An arriving session has its row and its id, but nobody sees it. Its events come in steps short enough that no other
writer waits long. The last step shows it, whole; until then whoever brings it says so again and again, and when that
stops the session is undone in steps as well. So an interrupted fork or import leaves nothing behind.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from holdfast.core import HoldfastError
from holdfast.core.chain import GENESIS
from holdfast.core.errors import Conflict, SessionArriving
from holdfast.store.engine import Tx
from holdfast.store.lanes.chores import makes_room
from holdfast.store.log.log_reader import absent
from holdfast.store.log.projection import DEFAULT_AGENT
from holdfast.store.log.rows import clear_rows
from holdfast.store.part import Workers, session_lock
from holdfast.store.text.word_index import forget_events
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

FIND = "SELECT session_no, life FROM sessions WHERE tenant = ?1 AND session_id = ?2"
LIFE = "SELECT life FROM sessions WHERE session_no = ?1"
INSERT_SESSION = """
    INSERT INTO sessions
      (tenant, session_id, agent, status, created_at, updated_at, head_seq, head_hash, document, life, copied_seq)
    VALUES (?1, ?2, ?3, 'active', ?4, ?4, 0, ?5, ?6, 'arriving', ?7)"""
INSERT_ARRIVAL = "INSERT INTO arrivals (session_no, holder, expires_at) VALUES (?1, ?2, ?3)"
ARRIVAL = "SELECT holder FROM arrivals WHERE session_no = ?1"
EXTEND = "UPDATE arrivals SET expires_at = ?2 WHERE session_no = ?1"
EXPIRE = "UPDATE arrivals SET expires_at = 0 WHERE session_no = ?1 AND holder = ?2"
DISOWN = "UPDATE arrivals SET holder = '', expires_at = 0 WHERE session_no = ?1"
STILL_EXPIRED = "SELECT 1 FROM arrivals WHERE session_no = ?1 AND expires_at <= ?2"
EXPIRE_ALL = "UPDATE arrivals SET expires_at = 0"
DROP_ARRIVAL = "DELETE FROM arrivals WHERE session_no = ?1"
SHOW = """
    UPDATE sessions SET life = 'live', head_seq = ?2, head_hash = ?3, updated_at = ?4 WHERE session_no = ?1"""
EXPIRED = """
    SELECT a.session_no, s.tenant, s.session_id FROM arrivals a JOIN sessions s ON s.session_no = a.session_no
    WHERE a.expires_at <= ?1 ORDER BY a.session_no LIMIT 1"""
FIRST_EVENTS = "SELECT seq, length(payload) FROM transcript_events WHERE session_no = ?1 ORDER BY seq LIMIT ?2"
DROP_EVENTS = "DELETE FROM transcript_events WHERE session_no = ?1 AND seq >= ?2 AND seq <= ?3"
DROP_POINTS = "DELETE FROM state_points WHERE session_no = ?1 AND seq >= ?2 AND seq <= ?3"
DROP_IDENTITIES = """
    DELETE FROM transcript_event_identities
    WHERE session_no = ?1 AND event_id IN (
      SELECT event_id FROM transcript_events WHERE session_no = ?1 AND seq >= ?2 AND seq <= ?3)"""
DROP_SESSION = "DELETE FROM sessions WHERE session_no = ?1 AND life = 'arriving'"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A session on its way in, and who brings it."""

    session_no: int
    session_id: str
    holder: str


def begin(
    tx: Tx,
    tenant: str,
    session_id: str,
    holder: str,
    created_at: int,
    copied_seq: int,
    tuning: StoreTuning = DEFAULT_TUNING,
) -> Arrival:
    """Take the id for a session that is to arrive; Conflict if it is taken, SessionGone if it was deleted."""
    row = tx.one(FIND, tenant, session_id)
    if row is not None:
        mine = tx.one(ARRIVAL, row[0]) if row[1] == "arriving" else None
        if mine is not None and mine[0] == holder:
            return Arrival(row[0], session_id, holder)
        if row[1] != "live":
            raise absent(session_id, row[1])
        raise Conflict(f"there is a session {session_id!r} already", session_id=session_id)
    tx.run(INSERT_SESSION, tenant, session_id, DEFAULT_AGENT, created_at, GENESIS, b"{}", copied_seq)
    made = tx.one(FIND, tenant, session_id)
    assert made is not None
    tx.run(INSERT_ARRIVAL, made[0], holder, tx.now() + tuning.arrival_ms)
    return Arrival(made[0], session_id, holder)


def hold_on(tx: Tx, arrival: Arrival, tuning: StoreTuning = DEFAULT_TUNING) -> None:
    """Say that the session is still on its way; SessionArriving if it was given up meanwhile."""
    row = tx.one(ARRIVAL, arrival.session_no)
    if row is None or row[0] != arrival.holder:
        raise SessionArriving(f"the arrival of session {arrival.session_id!r} was given up: it took too long a pause")
    tx.run(EXTEND, arrival.session_no, tx.now() + tuning.arrival_ms)


@contextlib.asynccontextmanager
async def holding(workers: Workers, arrival: Arrival, tenant: str, tuning: StoreTuning) -> AsyncIterator[None]:
    """Say again and again that the session is on its way, however long a step takes; if it fails, undo it."""
    lock = session_lock(tenant, arrival.session_id)
    async with saying_so(
        workers,
        lock,
        lambda tx: hold_on(tx, arrival, tuning),
        lambda: give_up(workers, arrival, tenant, tuning),
        tuning,
    ):
        yield


@contextlib.asynccontextmanager
async def saying_so(
    workers: Workers,
    lock: str,
    say: Callable[[Tx], None],
    give_up: Callable[[], Awaitable[None]],
    tuning: StoreTuning,
) -> AsyncIterator[None]:
    """Say again and again, by a write under a lock, that somebody is at it; if what is done meanwhile fails, give
    up."""

    async def go_on() -> None:
        while True:
            await asyncio.sleep(tuning.arrival_ms / 3_000)
            with contextlib.suppress(HoldfastError):  # the next step finds out what it means
                await workers.write(say, (lock,))

    held = asyncio.create_task(go_on())
    try:
        yield
    except BaseException:
        held.cancel()
        await give_up()
        raise
    finally:
        held.cancel()


def show(tx: Tx, arrival: Arrival, head_seq: int, head_hash: bytes, updated_at: int) -> None:
    """Make the session one like any other."""
    tx.run(SHOW, arrival.session_no, head_seq, head_hash, updated_at)
    tx.run(DROP_ARRIVAL, arrival.session_no)


def is_shown(tx: Tx, arrival: Arrival) -> bool:
    """Whether an earlier run of the last step was committed."""
    return tx.one(LIFE, arrival.session_no) == ("live",)


async def give_up(workers: Workers, arrival: Arrival, tenant: str, tuning: StoreTuning) -> None:
    """Undo the session now, as far as the store lets us; the rest is a chore."""
    lock = (session_lock(tenant, arrival.session_id),)
    with contextlib.suppress(HoldfastError):
        await workers.write(lambda tx: tx.run(EXPIRE, arrival.session_no, arrival.holder), lock, makes_room=True)
        while await workers.write(
            lambda tx: undo(tx, arrival.session_no, tuning), lock, tuning.step_events, makes_room=True
        ):
            pass


@makes_room
def undo_step(tx: Tx, tuning: StoreTuning = DEFAULT_TUNING) -> bool:
    """A chore: take back a part of an arrival that nobody brings any more; True if there is more to do."""
    now = tx.now()
    row = tx.one(EXPIRED, now)
    if row is None:
        return False
    session_no, tenant, session_id = row
    if not tx.try_lock(session_lock(tenant, session_id)):
        return False
    if tx.one(STILL_EXPIRED, session_no, now) is not None:
        undo(tx, session_no, tuning)
    return True


def undo(tx: Tx, session_no: int, tuning: StoreTuning) -> bool:
    """Take back one step of an arriving session; False once nothing of it is left.

    Whoever brings it no longer can: nothing may be added to what is being taken back.
    """
    if tx.one(ARRIVAL, session_no) is None:
        return False
    tx.run(DISOWN, session_no)
    span = first_span(tx, session_no, tuning)
    if span is not None:
        forget_events(tx, session_no, *span)
        drop_events(tx, session_no, *span)
        return True
    clear_rows(tx, session_no)
    tx.run(DROP_ARRIVAL, session_no)
    tx.run("DELETE FROM session_routes WHERE session_no = ?1", session_no)
    tx.run(DROP_SESSION, session_no)
    return False


def first_span(
    tx: Tx, session_no: int, tuning: StoreTuning, *, up_to: int | None = None, most: int | None = None
) -> tuple[int, int] | None:
    """The first and last seq of a step's worth of the session's lowest events, or None."""
    rows = tx.all(FIRST_EVENTS, session_no, min(most or tuning.step_events, tuning.step_events))
    rows = [row for row in rows if up_to is None or row[0] <= up_to]
    return (rows[0][0], last_of(rows, tuning)) if rows else None


def last_of(rows: list[tuple[int, int]], tuning: StoreTuning) -> int:
    """The last seq of (seq, size) rows that fit one step together."""
    size = 0
    last = rows[0][0]
    for seq, length in rows:
        size += length
        if size > tuning.step_bytes and seq != rows[0][0]:
            break
        last = seq
    return last


def drop_events(tx: Tx, session_no: int, first: int, last: int) -> None:
    """Remove events, their identities, and the state as it was after them."""
    tx.run(DROP_POINTS, session_no, first, last)
    tx.run(DROP_IDENTITIES, session_no, first, last)
    tx.run(DROP_EVENTS, session_no, first, last)


async def declare_all_dead(workers: Workers) -> None:
    """Give up every arrival: for a process that knows it is the store's only one."""
    await workers.write(lambda tx: tx.run(EXPIRE_ALL), (), makes_room=True)


Progress = Callable[[int, int], None]
"""Told how many events are done, of how many."""
