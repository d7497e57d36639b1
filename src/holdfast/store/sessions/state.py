"""State: a session's working document, changed by patches, each an event.

The version counts the patches. A patch with an expected version is refused, with the current state, if another
came first. A document has a limit; one that is larger already can only be made smaller. No lane parses a document,
merges one of more than a few kilobytes, or checks what a caller wants of it: a reader does, and the lane takes its
result if nothing has changed since.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from holdfast.core import Lease, State, strict_json, types
from holdfast.core.errors import Busy, InvalidInput, NotFound, StaleState
from holdfast.core.event_bodies import StateUpdated
from holdfast.core.ids import check_session_id
from holdfast.core.large_json import LARGE, LARGE_JSON, Rests
from holdfast.store.engine import Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.log.append import append, check_lease
from holdfast.store.log.log_reader import Head, existing_head, head_of
from holdfast.store.log.prepare import PreparedEvent
from holdfast.store.log.replay import find_replays
from holdfast.store.log.rows import PUT_STATE
from holdfast.store.part import Part
from holdfast.store.sessions import state_points
from holdfast.store.sessions.children import ChildrenPatch, SessionRows, Upsert, upsert
from holdfast.store.sessions.snapshot import SessionSnapshot
from holdfast.store.sessions.state_document import EMPTY_STATE, StateDocument, check_size, merged, stored_state

MAX_STATE = 1024 * 1024
IN_LANE = 64 * 1024
"""The bytes of a document and a patch that a lane merges itself."""
ATTEMPTS = 10

CHANGED = f"""
    SELECT 1 FROM transcript_events e
    JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no + 0
    WHERE e.session_no = ?1 AND e.seq > ?2 AND i.type LIKE '{types.PREFIX}%' LIMIT 1"""
"""Whether the rows beside a log may have changed since it had a seq: only the store's own events change them."""
MEASURE = "SELECT version, length(document), since_point FROM session_state WHERE session_no = ?1"


Check = Callable[[SessionSnapshot | None, StateDocument], None]
"""Refuses a patch, by raising, for what it sees of a session and its state, neither of which has changed when the patch
is written; of None, if there is no such session yet. It runs on a reader, because it may look at much."""


@dataclass(slots=True)
class StateDocuments:
    """What the states of one open store share: how large they may be, and whose turn it is where a reader merges."""

    limit: int = MAX_STATE
    turns: WeakValueDictionary[tuple[int, str], asyncio.Lock] = field(default_factory=WeakValueDictionary)
    merging: Rests = field(default_factory=Rests)
    """Whose turn it is, of tenants, to have a reader merge."""

    def turn(self, lock: str) -> asyncio.Lock:
        """What those in this process wait for who change the same document by a reader, so that each merges it once."""
        return self.turns.setdefault((id(asyncio.get_running_loop()), lock), asyncio.Lock())


@dataclass(frozen=True, slots=True)
class _Patch:
    """One patch, and what its caller wants to be so."""

    session_id: str
    body: Mapping[str, Any]
    event: PreparedEvent
    expected_version: int | None
    lease: Lease | None
    create: bool
    check: Check | None
    children: ChildrenPatch | None

    @property
    def weight(self) -> int:
        """How many events it may make."""
        return 1 + (self.children.size if self.children is not None else 0)


class _Merged(NamedTuple):
    """A document that a reader made: what it was made from, and its bytes."""

    version: int
    head_seq: int
    document: bytes


class _Replay(NamedTuple):
    """The patch is in the log already."""

    head: Head
    seq: int


class _Stale(NamedTuple):
    """Another patch came first."""

    now: StateDocument


class _Later(NamedTuple):
    """A reader has to check or merge it first."""


@dataclass(frozen=True, slots=True)
class States(Part):
    """`store.state`."""

    documents: StateDocuments

    async def get(self, session_id: str) -> State:
        """The current state; NotFound if there is no such session."""
        check_session_id(session_id)

        def run(tx: Tx) -> State:
            return stored_state(tx, existing_head(tx, self.tenant, session_id)).parse(session_id)

        return await self.workers.read(run, ReadLength.PAGE)

    async def patch(
        self,
        session_id: str,
        patch: Mapping[str, Any],
        *,
        expected_version: int | None = None,
        lease: Lease | None = None,
        idempotency_key: str | None = None,
        create: bool = True,
        children: ChildrenPatch | None = None,
    ) -> State:
        """The state after merging the patch into it; StaleState if it is not at the expected version, TooLarge if it
        would be larger than a state may be.

        Goals and sub-agents that come with it are set in the same transaction. A retry under the same key is told the
        first result, whatever is expected.
        """
        after = await self.merge(
            session_id,
            patch,
            expected_version=expected_version,
            lease=lease,
            idempotency_key=idempotency_key,
            create=create,
            children=children,
        )
        return after.parse(session_id)

    async def merge(
        self,
        session_id: str,
        patch: Mapping[str, Any],
        *,
        expected_version: int | None = None,
        lease: Lease | None = None,
        idempotency_key: str | None = None,
        create: bool = True,
        check: Check | None = None,
        children: ChildrenPatch | None = None,
    ) -> StateDocument:
        """The same as `patch`, with the document in bytes, and for callers with a check of their own."""
        check_session_id(session_id)
        if not isinstance(patch, Mapping):
            raise InvalidInput("a patch must be a JSON object")
        body = StateUpdated(await self._plain(patch))
        if children is not None:
            children.check()
            body.children = children.digest
        event = self.own_event(body, idempotency_key)
        asked = _Patch(session_id, body.patch, event, expected_version, lease, create, check, children)
        outcome = await self.write(session_id, lambda tx: self._write(tx, asked, None), asked.weight)
        if isinstance(outcome, _Later):
            async with self.documents.turn(self.lock(session_id)):
                outcome = await self._write_later(asked)
        if isinstance(outcome, _Stale):
            raise stale(session_id, outcome.now, expected_version)
        if isinstance(outcome, _Replay):
            where = (self.lock(session_id), self.tenant, session_id, outcome.head, outcome.seq)
            first = await state_points.state_at(self.workers, *where)
            return StateDocument(first.version, strict_json.dump(first.document), first.updated_at)
        assert isinstance(outcome, StateDocument)
        return outcome

    async def _plain(self, patch: Mapping[str, Any]) -> dict[str, Any]:
        """The patch as whoever reads its JSON gets it; a large one is parsed in its tenant's turn."""
        if isinstance(patch, strict_json.PlainObject):
            return patch
        raw = strict_json.dump(dict(patch))
        if len(raw) <= LARGE:
            return dict(strict_json.parse(raw))
        return dict(await LARGE_JSON.make(lambda: strict_json.parse_own(raw), self.tenant))

    async def _write_later(self, asked: _Patch) -> StateDocument | _Replay | _Stale:
        """Let a reader merge and a lane write, until nothing came between; Busy if something always does."""
        for _ in range(ATTEMPTS):
            async with self.documents.merging.turn(self.tenant):
                made = await self.workers.read(lambda tx: self._merge(tx, asked))
            outcome = await self.write(
                asked.session_id,
                lambda tx, made=made: self._write(tx, asked, made),  # type: ignore[misc]
                asked.weight,
            )
            if not isinstance(outcome, _Later):
                return outcome
        raise Busy(f"the state of session {asked.session_id!r} changes too often", retry_after=1)

    def _merge(self, tx: Tx, asked: _Patch) -> _Merged:
        """What the document would be."""
        head = head_of(tx, self.tenant, asked.session_id)
        before = stored_state(tx, head)
        if asked.check is not None and asked.expected_version in (None, before.version):
            session = None if head is None else SessionSnapshot(tx, self.tenant, asked.session_id, head)
            asked.check(session, before)
        document = merged(before.document, asked.body)
        check_size(len(document), len(before.document), self.documents.limit)
        return _Merged(before.version, head.seq if head else 0, document)

    def _write(self, tx: Tx, asked: _Patch, made: _Merged | None) -> StateDocument | _Replay | _Stale | _Later:
        """The patch and its result, written; or why not, with nothing written."""
        event = asked.event
        head = head_of(tx, self.tenant, asked.session_id)
        if head is None and not asked.create:
            raise NotFound(f"there is no session {asked.session_id!r}", session_id=asked.session_id)
        if head is not None:
            replay = find_replays(tx, head, [event])
            if replay:
                return _Replay(head, replay[0].seq)
        version, size, cost = _measure(tx, head)
        if asked.expected_version not in (None, version):
            return _Stale(stored_state(tx, head))
        if head is not None and asked.lease is not None:
            check_lease(tx, head, asked.lease)
        if made is None and asked.check is None and size + len(event.payload) <= IN_LANE:
            made = self._merge(tx, asked)
        if made is None or made.version != version:
            return _Later()
        if asked.check is not None and head is not None and tx.one(CHANGED, head.session_no, made.head_seq) is not None:
            return _Later()
        more = Upsert()
        if asked.children is not None:
            rows = None if head is None else SessionRows(tx, head.session_no)
            more = upsert(asked.children, self.own_event, self.ids, rows)
        unchecked = asked.lease if head is None else None
        seq = append(tx, self.tenant, asked.session_id, [event, *more.events], lease=unchecked).first_seq
        session_no = head.session_no if head else existing_head(tx, self.tenant, asked.session_id).session_no
        after = StateDocument(version + 1, made.document, event.created_at)
        if cost is not None:
            cost += len(event.payload) + state_points.PATCH_COST
        if cost is None or state_points.is_due(cost, len(after.document)):
            state_points.keep(tx, session_no, seq, after.version, after.updated_at, after.document)
            cost = 0
        tx.run(PUT_STATE, session_no, *after, cost)
        more.put(tx, session_no)
        return after


def stale(session_id: str, now: StateDocument, expected_version: int | None) -> StaleState:
    """The refusal of a patch that expected another version."""
    return StaleState(
        f"the state of session {session_id!r} is at version {now.version}, not {expected_version}",
        session_id=session_id,
        expected_version=expected_version,
        version=now.version,
        state=strict_json.parse_own(now.document),
    )


def _measure(tx: Tx, head: Head | None) -> tuple[int, int, int | None]:
    """The state's version, its size, and what the patches since its last point cost, if that is known."""
    row = None if head is None else tx.one(MEASURE, head.session_no)
    return (0, len(EMPTY_STATE), 0) if row is None else (row[0], row[1], row[2])
