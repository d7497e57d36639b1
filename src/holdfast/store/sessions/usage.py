"""Usage: the tokens that a session's models took and gave, by day and model."""

from dataclasses import dataclass

from holdfast.core import Usage
from holdfast.core.errors import InvalidInput
from holdfast.core.event_bodies import UsageRecorded
from holdfast.core.ids import check_name, check_session_id
from holdfast.store.engine import Tx
from holdfast.store.log.append import append
from holdfast.store.log.log_reader import existing_head
from holdfast.store.log.projection import UsageDay, more_usage, usage_day
from holdfast.store.log.rows import PUT_USAGE, usage_row
from holdfast.store.part import Part

END_DAY = 2**31
COUNTS = "calls, input_tokens, output_tokens, cached_tokens, cost_micros"
SUMS = ", ".join(f"CAST(coalesce(sum(u.{name}), 0) AS BIGINT)" for name in COUNTS.split(", "))
GET = f"SELECT {COUNTS} FROM usage WHERE session_no = ?1 AND day = ?2 AND model = ?3"
OF_SESSION = f"SELECT {SUMS} FROM usage u WHERE u.session_no = ?1"
TOTALS = f"""
    SELECT u.day, u.model, {SUMS} FROM usage u JOIN sessions s ON s.session_no = u.session_no
    WHERE s.tenant = ?1 AND u.day >= ?2 AND u.day < ?3 GROUP BY u.day, u.model ORDER BY u.day, u.model"""


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What one model was used for on one day (counted from 1970)."""

    day: int
    model: str
    usage: Usage


class Usages(Part):
    """`store.usage`."""

    __slots__ = ()

    async def record(
        self,
        session_id: str,
        model: str,
        *,
        input_tokens: int,
        output_tokens: int,
        cached_tokens: int = 0,
        cost_micros: int = 0,
        idempotency_key: str | None = None,
    ) -> Usage:
        """Count one call of a model; the session's total after it."""
        check_session_id(session_id)
        counts = (input_tokens, output_tokens, cached_tokens, cost_micros)
        body = UsageRecorded(check_name(model, "a model's name"), *counts)
        for name, count in zip(body.__struct_encode_fields__[1:], counts, strict=True):
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 2**48:
                raise InvalidInput(f"{name} must be a whole number from 0, not {count!r:.80}")
        event = self.own_event(body, idempotency_key)
        day = usage_day(body, event.created_at)

        def write(tx: Tx) -> Usage:
            appended = append(tx, self.tenant, session_id, [event])
            session_no = existing_head(tx, self.tenant, session_id).session_no
            if not appended.replayed:
                row = tx.one(GET, session_no, *day)
                tx.run(PUT_USAGE, *usage_row(session_no, day, more_usage(Usage(*row) if row else Usage(), body)))
            return total_of(tx, session_no)

        return await self.write(session_id, write)

    async def session(self, session_id: str) -> Usage:
        """The session's total."""
        check_session_id(session_id)
        return await self.workers.read(lambda tx: total_of(tx, existing_head(tx, self.tenant, session_id).session_no))

    async def by_day(self, first_day: int = 0, end_day: int = END_DAY) -> list[UsageRow]:
        """The tenant's usage by day and model, from the first day to before the end."""
        for day in (first_day, end_day):
            if isinstance(day, bool) or not isinstance(day, int) or not abs(day) < 2**63:
                raise InvalidInput(f"a day is a whole number, counted from 1970, not {day!r:.80}")
        return await self.workers.read(lambda tx: used_by_day(tx, self.tenant, first_day, end_day))


def used_by_day(tx: Tx, tenant: str, first_day: int = 0, end_day: int = END_DAY) -> list[UsageRow]:
    """The tenant's usage by day and model, from the first day to before the end."""
    rows = tx.all(TOTALS, tenant, first_day, end_day)
    return [UsageRow(*UsageDay(row[0], row[1]), Usage(*row[2:])) for row in rows]


def total_of(tx: Tx, session_no: int) -> Usage:
    """Everything that was counted for one session."""
    row = tx.one(OF_SESSION, session_no)
    assert row is not None
    return Usage(*row)
