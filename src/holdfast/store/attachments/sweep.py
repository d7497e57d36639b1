"""The sweep: attachments that nobody needs go, in steps.

An attachment goes if no session uses it and nobody has put it for a while; so does an upload that was given up.
It first stops being complete, so that nobody can read or attach half of it, and whoever sweeps holds the digest's
lock, as do those who put and attach: bytes that an event names are never swept.
"""

from dataclasses import dataclass
from typing import NamedTuple

from holdfast.core.errors import InvalidInput
from holdfast.store.engine import Tx
from holdfast.store.lanes.chores import makes_room
from holdfast.store.part import Workers
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

DAY_MS = 24 * 60 * 60 * 1000

OLDEST = "SELECT attachment_no, tenant, digest FROM attachments WHERE touched_at <= ?1 ORDER BY touched_at LIMIT ?2"
UNUSED = """
    SELECT a.attachment_no, a.digest FROM attachments a
    WHERE a.tenant = ?1 AND a.touched_at <= ?2 AND a.attachment_no > ?3
      AND NOT EXISTS (SELECT 1 FROM attachment_uses u WHERE u.tenant = a.tenant AND u.digest = a.digest)
    ORDER BY a.attachment_no LIMIT ?4"""
TOUCHED = "SELECT touched_at FROM attachments WHERE attachment_no = ?1"
USED = "SELECT session_no FROM attachment_uses WHERE tenant = ?1 AND digest = ?2 LIMIT 1"
TOUCH = "UPDATE attachments SET touched_at = ?2 WHERE attachment_no = ?1"
WITHDRAW = "UPDATE attachments SET complete = 0 WHERE attachment_no = ?1"
PARTS = "SELECT part, length(bytes) FROM attachment_parts WHERE attachment_no = ?1 ORDER BY part LIMIT ?2"
DELETE_PART = "DELETE FROM attachment_parts WHERE attachment_no = ?1 AND part = ?2"
DELETE = "DELETE FROM attachments WHERE attachment_no = ?1"


@dataclass(frozen=True, slots=True)
class SweepResult:
    """How many attachments, finished or not, a sweep removed, and how many bytes went with them."""

    count: int
    bytes: int


class _Removed(NamedTuple):
    """What one step removed, and whether the attachment needs another."""

    bytes: int = 0
    whole: bool = False
    more: bool = False


def attachment_lock(tenant: str, digest: str) -> str:
    """The name that writers of an attachment lock."""
    return f"attachment\0{tenant}\0{digest}"


async def sweep(tenant: str, workers: Workers, older_than_ms: int, tuning: StoreTuning) -> SweepResult:
    """Remove one tenant's attachments that are unused and were last put at least so long ago."""
    if isinstance(older_than_ms, bool) or not isinstance(older_than_ms, int) or older_than_ms < 0:
        raise InvalidInput(f"older_than_ms must be milliseconds from 0, not {older_than_ms!r:.80}")
    before = await workers.read(lambda tx: tx.now()) - older_than_ms
    count = freed = after = 0
    while True:
        page = await workers.read(
            lambda tx, after=after: tx.all(UNUSED, tenant, before, after, tuning.sweep_page)  # type: ignore[misc]
        )
        for attachment_no, digest in page:
            step = _Removed(more=True)
            while step.more:
                step = await workers.write(
                    lambda tx, no=attachment_no, digest=digest: _remove(tx, no, tenant, digest, before, tuning),  # type: ignore[misc]
                    (attachment_lock(tenant, digest),),
                    makes_room=True,
                )
                freed += step.bytes
            count += step.whole
        if len(page) < tuning.sweep_page:
            return SweepResult(count, freed)
        after = page[-1][0]


@makes_room
def sweep_step(tx: Tx, tuning: StoreTuning = DEFAULT_TUNING) -> bool:
    """One step of sweeping the whole store of what was unused for a day; True if there may be more to do.

    An attachment that is used is touched, so that each is looked at once a day. Digests that others have locked are
    left for later: a chore waits for nobody.
    """
    now = tx.now()
    more = False
    for attachment_no, tenant, digest in tx.all(OLDEST, now - DAY_MS, tuning.sweep_looks):
        if not tx.try_lock(attachment_lock(tenant, digest)):
            continue
        more = True
        if tx.one(USED, tenant, digest) is None:
            _remove(tx, attachment_no, tenant, digest, now - DAY_MS, tuning)
            return True
        tx.run(TOUCH, attachment_no, now)
    return more


def _remove(tx: Tx, attachment_no: int, tenant: str, digest: str, before: int, tuning: StoreTuning) -> _Removed:
    """Remove some of an attachment's parts, and with the last of them itself; nothing if it is needed after all."""
    row = tx.one(TOUCHED, attachment_no)
    if row is None or row[0] > before or tx.one(USED, tenant, digest) is not None:
        return _Removed()
    tx.run(WITHDRAW, attachment_no)
    parts = tx.all(PARTS, attachment_no, tuning.sweep_parts)
    tx.run_many(DELETE_PART, [(attachment_no, part) for part, _ in parts])
    freed = sum(size for _, size in parts)
    if len(parts) == tuning.sweep_parts:
        return _Removed(freed, more=True)
    tx.run(DELETE, attachment_no)
    return _Removed(freed, whole=True)
