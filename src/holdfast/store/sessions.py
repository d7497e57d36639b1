"""Sessions: create, get, list.

Creating is an event with one fixed idempotency key, so a session is described once: the same description again
changes nothing, another one is a conflict, and a session that began with a plain append is described later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core import Session, SessionPage, strict_json, types
from holdfast.core.errors import Conflict, IdempotencyConflict, InvalidInput, NotFound
from holdfast.core.ids import check_name, check_session_id
from holdfast.store.append import append
from holdfast.store.engine import Row, Tx
from holdfast.store.part import Part
from holdfast.store.projection import DEFAULT_AGENT, SessionFacts, created
from holdfast.store.reading import head_of

MAX_PAGE = 500
CREATE_KEY = types.SESSION_CREATED

COLUMNS = "session_id, agent, user_id, status, created_at, updated_at, head_seq, head_hash, document, session_no"
GET = f"SELECT {COLUMNS} FROM sessions WHERE tenant = ?1 AND session_id = ?2"
LIST = f"SELECT {COLUMNS} FROM sessions WHERE tenant = ?1 AND session_no < ?2 ORDER BY session_no DESC LIMIT ?3"
LIST_BY_USER = f"""
    SELECT {COLUMNS} FROM sessions
    WHERE tenant = ?1 AND session_no < ?2 AND user_id = ?4 ORDER BY session_no DESC LIMIT ?3"""
DESCRIBE = "UPDATE sessions SET agent = ?3, user_id = ?4, document = ?5 WHERE tenant = ?1 AND session_id = ?2"


@dataclass(frozen=True, slots=True)
class Created:
    """A session, and whether this call made it."""

    session: Session
    new: bool


class Sessions(Part):
    """`store.sessions`."""

    __slots__ = ()

    async def create(
        self,
        session_id: str | None = None,
        *,
        user_id: str | None = None,
        agent: str = DEFAULT_AGENT,
        initial: Any = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        parent_session: str | None = None,
    ) -> Created:
        """Describe a session, making it if need be; Conflict if it was described otherwise before."""
        chosen = check_session_id(session_id) if session_id is not None else self.ids()
        if user_id is not None:
            check_name(user_id, "a user id")
        body = {
            "agent": check_name(agent, "an agent's name"),
            "userId": user_id,
            "initial": initial,
            "metadata": dict(metadata or {}),
            "tags": [check_name(tag, "a tag") for tag in tags],
            "parentSession": parent_session,
        }
        event = self.own_event(types.SESSION_CREATED, body, CREATE_KEY)

        def write(tx: Tx) -> Created:
            new = head_of(tx, self.tenant, chosen) is None
            try:
                appended = append(tx, self.tenant, chosen, [event])
            except IdempotencyConflict:
                raise Conflict(f"session {chosen!r} was created before with another body", session_id=chosen) from None
            if not appended.replayed:
                describe(tx, self.tenant, chosen, body)
            return Created(get(tx, self.tenant, chosen), new)

        return await self.write(chosen, write)

    async def get(self, session_id: str) -> Session:
        """The session, or NotFound."""
        check_session_id(session_id)
        return await self.workers.read(lambda tx: get(tx, self.tenant, session_id))

    async def list(self, *, user_id: str | None = None, cursor: str | None = None, limit: int = 50) -> SessionPage:
        """One page, newest first."""
        if not 1 <= limit <= MAX_PAGE:
            raise InvalidInput(f"limit must be 1 to {MAX_PAGE}, not {limit}")
        start = 2**63 - 1 if cursor is None else _cursor(cursor)

        def read(tx: Tx) -> SessionPage:
            if user_id is None:
                rows = tx.all(LIST, self.tenant, start, limit + 1)
            else:
                rows = tx.all(LIST_BY_USER, self.tenant, start, limit + 1, user_id)
            more = str(rows[limit - 1][-1]) if len(rows) > limit else None
            return SessionPage([_session(row) for row in rows[:limit]], more)

        return await self.workers.read(read)


def describe(tx: Tx, tenant: str, session_id: str, body: Mapping[str, Any]) -> None:
    """Put what a session_created event says onto the session's row."""
    facts = created(SessionFacts(), body)
    tx.run(DESCRIBE, tenant, session_id, facts.agent, facts.user_id, strict_json.dump(facts.document))


def get(tx: Tx, tenant: str, session_id: str) -> Session:
    """The session, or NotFound."""
    row = tx.one(GET, tenant, session_id)
    if row is None:
        raise NotFound(f"there is no session {session_id!r}", session_id=session_id)
    return _session(row)


def _session(row: Row) -> Session:
    session_id, agent, user_id, status, created_at, updated_at, head_seq, head_hash, document, _ = row
    described = strict_json.parse(document)
    return Session(
        session_id,
        agent,
        user_id,
        status,
        created_at,
        updated_at,
        head_seq,
        head_hash,
        described.get("metadata", {}),
        tuple(described.get("tags", ())),
        described.get("initial"),
    )


def _cursor(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        raise InvalidInput(f"{text!r:.80} is not a cursor of this list", hint="use the cursor of the page before")
    return min(int(text), 2**63 - 1)
