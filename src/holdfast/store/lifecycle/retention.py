"""Retention: which sessions have had their time.

A plan names the sessions that a policy ends, each with the reason, and changes nothing; carrying it out deletes them
one by one, archived first, unless its log has gone on since. A session under legal hold, or leased to a writer now, is
never in a plan.
"""

from dataclasses import dataclass

from holdfast.core import HoldfastError
from holdfast.core.errors import Conflict, InvalidInput, NotFound, SessionGone
from holdfast.store.engine import Row, Tx
from holdfast.store.lifecycle.arrivals import Progress
from holdfast.store.lifecycle.deletion import Deletion
from holdfast.store.part import Part

PAGE = 5_000

CANDIDATES = f"""
    SELECT s.session_no, s.session_id, s.updated_at, s.head_seq, s.size_bytes, s.held, coalesce(l.expires_at, 0)
    FROM sessions s LEFT JOIN leases l ON l.session_no = s.session_no
    WHERE s.tenant = ?1 AND s.session_no > ?2 AND s.life = 'live' ORDER BY s.session_no LIMIT {PAGE}"""


@dataclass(frozen=True, slots=True)
class Policy:
    """How long, how many, how much; None sets no limit."""

    max_age_ms: int | None = None
    """Since the last event."""
    max_sessions: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class DoomedSession:
    """A session that a policy ends, and why."""

    session_id: str
    reason: str
    updated_at: int
    head_seq: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    """What a policy would end, oldest first, and what it may not touch although it would."""

    doomed: list[DoomedSession]
    held: list[str]


@dataclass(frozen=True, slots=True)
class _Candidate:
    session_id: str
    updated_at: int
    head_seq: int
    size_bytes: int
    held: bool
    leased: bool


class Retention(Part):
    """`store.retention`."""

    __slots__ = ()

    async def plan(self, policy: Policy) -> RetentionPlan:
        """What the policy would end now."""
        for limit in (policy.max_age_ms, policy.max_sessions, policy.max_bytes):
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
                raise InvalidInput(f"a limit of retention must be a whole number from 0, not {limit!r:.40}")
        return decide(policy, await self._candidates(), self.clock.now())

    async def run(self, plan: RetentionPlan, *, progress: Progress | None = None) -> list[DoomedSession]:
        """Delete what the plan names; those that were deleted. What was used, held or gone meanwhile is left out.

        An error half-way names in its details those that were `deleted` before it.
        """
        deletion = Deletion(self.tenant, self.workers, self.clock, self.ids, self.tuning)
        done: list[DoomedSession] = []
        for number, doomed in enumerate(plan.doomed, 1):
            try:
                reason = f"retention: {doomed.reason}"
                await deletion.delete(doomed.session_id, reason=reason, unchanged_at=doomed.head_seq)
                done.append(doomed)
            except (Conflict, SessionGone, NotFound):
                pass
            except HoldfastError as error:
                if done:
                    names = [each.session_id for each in done]
                    were = "was" if len(done) == 1 else "were"
                    error.after(f"{len(done)} of {len(plan.doomed)} sessions {were} deleted", deleted=names)
                raise
            if progress is not None:
                progress(number, len(plan.doomed))
        return done

    async def _candidates(self) -> list[_Candidate]:
        found: list[_Candidate] = []
        after = 0

        def page(tx: Tx) -> tuple[list[Row], int]:
            return tx.all(CANDIDATES, self.tenant, after), tx.now()

        while True:
            rows, now = await self.workers.read(page)
            found += [_Candidate(row[1], row[2], row[3], row[4], bool(row[5]), row[6] > now) for row in rows]
            if len(rows) < PAGE:
                return found
            after = rows[-1][0]


def decide(policy: Policy, candidates: list[_Candidate], now: int) -> RetentionPlan:
    """Which of the candidates, in the order in which they began, are over one of the limits: the least recently
    used first, and of those of one moment the one that began first."""
    count, size = len(candidates), sum(each.size_bytes for each in candidates)
    doomed: list[DoomedSession] = []
    held: list[str] = []
    for each in sorted(candidates, key=lambda each: each.updated_at):
        reason = None
        if policy.max_age_ms is not None and now - each.updated_at > policy.max_age_ms:
            reason = "age"
        elif policy.max_sessions is not None and count > policy.max_sessions:
            reason = "count"
        elif policy.max_bytes is not None and size > policy.max_bytes:
            reason = "size"
        if reason is None or each.leased:
            continue
        if each.held:
            held.append(each.session_id)
            continue
        doomed.append(DoomedSession(each.session_id, reason, each.updated_at, each.head_seq, each.size_bytes))
        count, size = count - 1, size - each.size_bytes
    return RetentionPlan(doomed, held)
