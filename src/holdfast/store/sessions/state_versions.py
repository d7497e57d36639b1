"""The versions of a state: which there were, and the document as each left it.

A version is the patch that made it, so they are counted back from the newest. What a patch left follows from the last
point before it (`state_points`); nothing is kept for having been looked at.
"""

from dataclasses import dataclass
from typing import NamedTuple

from holdfast.core import State, types
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import check_session_id
from holdfast.store.engine import Tx
from holdfast.store.log.log_reader import Head, existing_head
from holdfast.store.part import Part
from holdfast.store.sessions.state_points import look_at

MAX_VERSIONS = 500

NEWEST = "SELECT version FROM session_state WHERE session_no = ?1"
PATCHES = f"""
    SELECT i.seq, e.created_at FROM transcript_event_identities i
    JOIN transcript_events e ON e.session_no = i.session_no + 0 AND e.seq = i.seq
    WHERE i.session_no = ?1 AND i.type = '{types.STATE_UPDATED}' ORDER BY i.seq DESC LIMIT ?2 OFFSET ?3"""


class StateVersion(NamedTuple):
    """A version of a state: the seq of the patch that made it, and when that was."""

    version: int
    seq: int
    created_at: int


@dataclass(frozen=True, slots=True)
class StateVersionPage:
    """Some versions, newest first; `cursor` asks for older ones, None if there are none."""

    versions: list[StateVersion]
    cursor: int | None


class StateVersions(Part):
    """`store.state_versions`."""

    __slots__ = ()

    async def list(self, session_id: str, *, before: int | None = None, limit: int = 50) -> StateVersionPage:
        """One page of the versions below `before`, newest first."""
        check_session_id(session_id)
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_VERSIONS:
            raise InvalidInput(f"limit must be 1 to {MAX_VERSIONS}, not {limit!r:.80}")

        def read(tx: Tx) -> StateVersionPage:
            head = existing_head(tx, self.tenant, session_id)
            found = _versions(tx, head, before, limit + 1)
            shown = found[:limit]
            return StateVersionPage(shown, shown[-1].version if len(found) > limit else None)

        return await self.workers.read(read)

    async def get(self, session_id: str, version: int) -> tuple[StateVersion, State]:
        """One version, and the state as it left it; NotFound if there is none."""
        check_session_id(session_id)

        def read(tx: Tx) -> tuple[Head, StateVersion]:
            head = existing_head(tx, self.tenant, session_id)
            found = _versions(tx, head, version + 1, 1)
            if not found or found[0].version != version or version < 1:
                raise NotFound(f"the state of session {session_id!r} has no version {version}", session_id=session_id)
            return head, found[0]

        head, found = await self.workers.read(read)
        facts = await look_at(self.workers, head, found.seq)
        return found, State(session_id, facts.version, dict(facts.document), facts.updated_at)


def _versions(tx: Tx, head: Head, before: int | None, limit: int) -> list[StateVersion]:
    row = tx.one(NEWEST, head.session_no)
    newest = 0 if row is None else int(row[0])
    first = newest if before is None else min(newest, before - 1)
    if first < 1:
        return []
    rows = tx.all(PATCHES, head.session_no, min(limit, first), newest - first)
    return [StateVersion(first - at, *row) for at, row in enumerate(rows)]
