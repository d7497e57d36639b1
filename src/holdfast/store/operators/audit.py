"""The audit log: what was done with a gateway's power, by whom, and how it ended.

An entry is written before the action and gets its status after it, so one without a status was begun and cut off.
Entries are never changed otherwise, and outlive what they are about. What took an operator's power is about the whole
store, whichever tenant it was done for: those entries are for operators.
"""

from dataclasses import dataclass

from holdfast.core.errors import InvalidInput
from holdfast.core.ids import check_name
from holdfast.store.engine import Tx
from holdfast.store.operators.tokens import OPERATOR
from holdfast.store.part import Part

MAX_PAGE = 1_000

BEGIN = """
    INSERT INTO audit (entry_id, tenant, created_at, caller, token_id, scope, action, target)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (entry_id) DO NOTHING"""
END = "UPDATE audit SET status = ?2, details = ?3 WHERE entry_id = ?1"
LIST = """
    SELECT entry_id, created_at, caller, token_id, scope, action, target, details, status FROM audit
    WHERE tenant = ?1 AND entry_id < ?2 AND scope <> ?4 ORDER BY entry_id DESC LIMIT ?3"""
AFTER_ALL = "~"
"""Sorts after every id."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One action: an operation on a target, by a caller; `scope` is the one that it needed."""

    entry_id: str
    created_at: int
    caller: str
    token_id: str | None
    scope: str
    action: str
    target: str
    details: str | None
    status: int | None


class Audit(Part):
    """`store.audit`: its tenant's entries."""

    __slots__ = ()

    async def begin(self, caller: str, token_id: str | None, scope: str, action: str, target: str) -> str:
        """Write that an action begins; the id to end it by."""
        entry_id = self.ids()

        def write(tx: Tx) -> str:
            tx.run(BEGIN, entry_id, self.tenant, tx.now(), caller, token_id, scope, action, target)
            return entry_id

        return await self.workers.write(write, self._lock(), makes_room=True)

    async def end(self, entry_id: str, status: int, details: str | None = None) -> None:
        """Write how an action ended."""

        def write(tx: Tx) -> None:
            tx.run(END, entry_id, status, details)

        await self.workers.write(write, self._lock(), makes_room=True)

    async def list(self, *, before: str | None = None, limit: int = 100, operators: bool = True) -> list[AuditRecord]:
        """Entries, newest first, the operators' among them or not; `before` is the last one's id of the page before."""
        if not 0 < limit <= MAX_PAGE:
            raise InvalidInput(f"a page has 1 to {MAX_PAGE} entries, not {limit}")
        last = AFTER_ALL if before is None else check_name(before, "a cursor")
        hidden = "" if operators else OPERATOR
        rows = await self.workers.read(lambda tx: tx.all(LIST, self.tenant, last, limit, hidden))
        return [AuditRecord(*row) for row in rows]

    def _lock(self) -> tuple[str]:
        return (f"audit\0{self.tenant}",)
