"""Sessions: create, describe, end, list.

Creating is an event with one fixed idempotency key, so a session is described once: the same description again
changes nothing, another one is a conflict, and a session that began with a plain append is described later.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from holdfast.core import Session, SessionPage, strict_json
from holdfast.core.errors import Conflict, IdempotencyConflict, InvalidInput, NotFound, TooLarge
from holdfast.core.event_bodies import HoldChanged, MetadataUpdated, SessionCreated, SessionFinalized, TagsUpdated
from holdfast.core.ids import check_name, check_session_id
from holdfast.core.statuses import COMPLETED, SESSION_STATUSES, one_of
from holdfast.store.engine import Row, Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.log.append import append
from holdfast.store.log.log_reader import absent, existing_head, head_of, page_length
from holdfast.store.log.prepare import FOR_EVENTS, PreparedEvent, check_most, with_body
from holdfast.store.log.projection import (
    DEFAULT_AGENT,
    SessionFacts,
    created,
    finalized,
    with_hold,
    with_metadata,
    with_tags,
)
from holdfast.store.log.rows import get_facts, put_facts
from holdfast.store.part import Part

MAX_PAGE = 500
END = 2**63 - 1
CREATE_KEY = SessionCreated.TYPE
MAX_METADATA = 64 * 1024
MAX_INITIAL = 64 * 1024
MAX_FINAL = 128 * 1024
"""The outcome and the response of a session together."""
MAX_TAGS = 256
LINEAGE = ("parentSession", "forkedFrom", "previousSession", "nextSession")

COLUMNS = """
    s.session_id, s.agent, s.user_id, s.status, s.created_at, s.updated_at, s.head_seq, s.head_hash, s.document,
    s.held, s.size_bytes, s.life, s.session_no"""
GET = f"SELECT {COLUMNS} FROM sessions s WHERE s.tenant = ?1 AND s.session_id = ?2"

Change = Callable[[SessionFacts], SessionFacts]


@dataclass(frozen=True, slots=True)
class CreatedSession:
    """A session, and whether this call made it."""

    session: Session
    new: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """Which sessions a list is about; None asks for any."""

    user_id: str | None = None
    tag: str | None = None
    status: str | None = None
    created_from: int | None = None
    created_to: int | None = None
    agent: str | None = None
    held: bool | None = None


class Sessions(Part):
    """`store.sessions`."""

    __slots__ = ()

    async def create(
        self,
        session_id: str | None = None,
        *,
        user_id: str | None = None,
        agent: str | None = None,
        initial: Any = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        parent_session: str | None = None,
    ) -> CreatedSession:
        """Describe a session, making it if need be; Conflict if it was described otherwise before.

        An agent that is not named is the one that the session has, or the ordinary one.
        """
        chosen = check_session_id(session_id) if session_id is not None else self.ids()
        if user_id is not None:
            check_name(user_id, "a user id")
        if parent_session is not None:
            check_session_id(parent_session)
        body = SessionCreated(
            agent=check_name(DEFAULT_AGENT if agent is None else agent, "an agent's name"),
            user_id=user_id,
            initial=strict_json.plain(initial),
            metadata=strict_json.plain(check_object({} if metadata is None else metadata, "metadata")),
            tags=check_tags(tags),
            parent_session=parent_session,
        )
        check_most(body.metadata, MAX_METADATA, "the metadata")
        check_most(body.initial, MAX_INITIAL, "the initial document")
        draft = self.own_event(body)._replace(idempotency_key=CREATE_KEY)

        def write(tx: Tx) -> CreatedSession:
            head = head_of(tx, self.tenant, chosen)
            new, said, event = head is None, body, draft
            if agent is None and head is not None:
                said = replace(body, agent=get_facts(tx, head.session_no).agent)
                event = with_body(draft, said)
            try:
                appended = append(tx, self.tenant, chosen, [event])
            except IdempotencyConflict:
                raise Conflict(f"session {chosen!r} was created before with another body", session_id=chosen) from None
            if not appended.replayed:
                describe(tx, self.tenant, chosen, lambda facts: _modest(facts, created(facts, said)))
            elif appended.event_ids == (event.event_id,):  # an earlier run of this write made it
                new = appended.first_seq == 1
            return CreatedSession(get(tx, self.tenant, chosen), new)

        return await self.write(chosen, write)

    async def get(self, session_id: str) -> Session:
        """The session, or NotFound."""
        check_session_id(session_id)
        return await self.workers.read(lambda tx: get(tx, self.tenant, session_id), ReadLength.PAGE)

    async def list(self, chosen: Filter | None = None, *, cursor: str | None = None, limit: int = 50) -> SessionPage:
        """One page of the sessions that fit, newest first; it ends early, at a cursor, rather than be large."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_PAGE:
            raise InvalidInput(f"limit must be 1 to {MAX_PAGE}, not {limit}")
        before = place_of(cursor)
        asked = check_filter(chosen or Filter())
        return await self.workers.read(lambda tx: page(tx, self.tenant, asked, before, limit))

    async def patch_metadata(
        self, session_id: str, patch: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> Session:
        """The session after merging the patch into its metadata: objects merge, null removes."""
        body = MetadataUpdated(strict_json.plain(check_object(patch, "a patch of metadata")))
        event = self.own_event(body, idempotency_key)
        return await self._change(session_id, event, lambda facts: _little_metadata(facts, with_metadata(facts, body)))

    async def tag(
        self,
        session_id: str,
        *,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        idempotency_key: str | None = None,
    ) -> Session:
        """The session after adding and removing tags."""
        body = TagsUpdated(check_tags(add), check_tags(remove))
        if not add and not remove:
            raise InvalidInput("there is no tag to add or remove")
        event = self.own_event(body, idempotency_key)
        return await self._change(session_id, event, lambda facts: _few_tags(facts, with_tags(facts, body)))

    async def finalize(
        self,
        session_id: str,
        status: str = COMPLETED,
        *,
        outcome: Any = None,
        response: Any = None,
        idempotency_key: str | None = None,
    ) -> Session:
        """The session, ended with a status, its outcome and its last response. Events may still follow."""
        chosen = one_of(SESSION_STATUSES, status, f"{status!r:.80} is not a session's status")
        body = SessionFinalized(chosen, strict_json.plain(outcome), strict_json.plain(response))
        check_most([body.outcome, body.response], MAX_FINAL, "the outcome and the response")
        event = self.own_event(body, idempotency_key)
        return await self._change(session_id, event, lambda facts: finalized(facts, body, event.created_at))

    async def hold(self, session_id: str, held: bool, *, reason: str = "") -> Session:
        """The session with a legal hold laid on it or released; a held one is neither deleted nor erased."""
        if not isinstance(held, bool) or not isinstance(reason, str):
            raise InvalidInput("a legal hold is laid on (true) or released (false), and its reason is text")
        body = HoldChanged(held, reason)
        event = self.own_event(body)
        return await self._change(session_id, event, lambda facts: with_hold(facts, body))

    async def _change(self, session_id: str, event: PreparedEvent, change: Change) -> Session:
        check_session_id(session_id)

        def write(tx: Tx) -> Session:
            if not append(tx, self.tenant, session_id, [event], create=False).replayed:
                describe(tx, self.tenant, session_id, change)
            return get(tx, self.tenant, session_id)

        return await self.write(session_id, write)


def describe(tx: Tx, tenant: str, session_id: str, change: Change) -> None:
    """Put what an event says of its session onto the session's row."""
    session_no = existing_head(tx, tenant, session_id).session_no
    put_facts(tx, tenant, session_no, change(get_facts(tx, session_no)))


def _modest(before: SessionFacts, after: SessionFacts) -> SessionFacts:
    """The session after its description; TooLarge for its metadata or its tags."""
    return _few_tags(before, _little_metadata(before, after))


def _little_metadata(before: SessionFacts, after: SessionFacts) -> SessionFacts:
    """The session after a change; TooLarge if it has too much metadata, and no less than before."""
    was, size = (len(strict_json.dump(facts.document.get("metadata", {}))) for facts in (before, after))
    if size > MAX_METADATA and size >= was:
        raise TooLarge(f"the metadata would have {size} bytes", hint=FOR_EVENTS, limit=MAX_METADATA)
    return after


def _few_tags(before: SessionFacts, after: SessionFacts) -> SessionFacts:
    """The session after a change; TooLarge if it has too many tags, and no fewer than before."""
    was, count = (len(facts.document.get("tags", ())) for facts in (before, after))
    if count > MAX_TAGS and count >= was:
        raise TooLarge(f"the session would have {count} tags", hint="remove some", limit=MAX_TAGS)
    return after


def get(tx: Tx, tenant: str, session_id: str) -> Session:
    """The session, or NotFound."""
    row = tx.one(GET, tenant, session_id)
    if row is None:
        raise NotFound(f"there is no session {session_id!r}", session_id=session_id)
    if row[-2] != "live":
        raise absent(session_id, row[-2])
    return as_session(row)


def find(tx: Tx, tenant: str, session_id: str) -> Session | None:
    """The session, or None if it is not there, or no more."""
    row = tx.one(GET, tenant, session_id)
    return as_session(row) if row is not None and row[-2] == "live" else None


def page(tx: Tx, tenant: str, chosen: Filter, before: int = END, limit: int = MAX_PAGE) -> SessionPage:
    """The newest sessions that fit, of those before a place in the list."""
    sizes, values = select("length(s.document)", chosen, tenant, before)
    found = [size for (size,) in tx.all(f"{sizes} LIMIT {limit + 1}", *values)]
    length = page_length(found, limit)
    sql, values = select(COLUMNS, chosen, tenant, before)
    rows = tx.all(f"{sql} LIMIT {length}", *values)
    return SessionPage([as_session(row) for row in rows], str(rows[-1][-1]) if len(found) > length else None)


def select(columns: str, chosen: Filter, tenant: str, before: int) -> tuple[str, list[Any]]:
    """The statement that lists these columns of what fits, newest first, and its arguments."""
    values: list[Any] = [tenant, before]
    source, conditions = "sessions s", ["s.tenant = ?1", "s.session_no < ?2", "s.life = 'live'"]
    order = "s.session_no"
    if chosen.tag is not None:
        source = "session_tags t JOIN sessions s ON s.session_no = t.session_no"
        values.append(chosen.tag)
        conditions += ["t.tenant = ?1", f"t.tag = ?{len(values)}", "t.session_no < ?2"]
        order = "t.session_no"
    for condition, value in (
        ("s.user_id =", chosen.user_id),
        ("s.status =", chosen.status),
        ("s.created_at >=", chosen.created_from),
        ("s.created_at <", chosen.created_to),
        ("s.agent =", chosen.agent),
    ):
        if value is not None:
            values.append(value)
            conditions.append(f"{condition} ?{len(values)}")
    if chosen.held is not None:
        conditions.append(f"s.held = {int(chosen.held)}")  # written out: only so does the index of those held serve
    return f"SELECT {columns} FROM {source} WHERE {' AND '.join(conditions)} ORDER BY {order} DESC", values


def check_object(value: Mapping[str, Any], what: str) -> dict[str, Any]:
    """The JSON object as a dict; InvalidInput if it is none."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be a JSON object")
    return dict(value)


def check_filter(chosen: Filter) -> Filter:
    """The filter; InvalidInput if no session could ever fit it."""
    names = (
        (chosen.user_id, "a user id"),
        (chosen.tag, "a tag"),
        (chosen.status, "a status"),
        (chosen.agent, "an agent's name"),
    )
    for text, what in names:
        if text is not None:
            check_name(text, what)
    for time in (chosen.created_from, chosen.created_to):
        if time is not None and (isinstance(time, bool) or not isinstance(time, int) or not abs(time) < 2**63):
            raise InvalidInput(f"a time must be milliseconds since 1970, not {time!r:.80}")
    return chosen


def check_tags(tags: Sequence[str]) -> list[str]:
    """The tags, each once; InvalidInput if one is not a name."""
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise InvalidInput("tags must be a list of names")
    return list(dict.fromkeys(check_name(tag, "a tag") for tag in tags))


def as_session(row: Row) -> Session:
    """A row of COLUMNS as a session."""
    document = strict_json.parse_own(row[8])
    session_id, agent, user_id, status, created_at, updated_at, head_seq, head_hash = row[:8]
    return Session(
        session_id,
        agent,
        user_id,
        status,
        created_at,
        updated_at,
        head_seq,
        head_hash,
        metadata=document.get("metadata", {}),
        tags=tuple(document.get("tags", ())),
        initial=document.get("initial"),
        final=document.get("final"),
        lineage={name: document[name] for name in LINEAGE if name in document},
        held=bool(row[9]),
        size_bytes=row[10],
    )


def place_of(text: str | None) -> int:
    """The place in the list that a cursor names; InvalidInput if it is none."""
    if text is None:
        return END
    if not isinstance(text, str) or not text.isascii() or not text.isdigit() or len(text) > 19:
        raise InvalidInput(f"{text!r:.80} is not a cursor of this list", hint="use the cursor of the page before")
    return min(int(text), END)
