"""State: a session's working document, changed by patches, each an event.

The version counts the patches. A patch with an expected version is refused, with the current state, if another
came first.
"""

from collections.abc import Callable, Mapping
from typing import Any

from holdfast.core import Lease, State, strict_json, types
from holdfast.core.errors import InvalidInput, NotFound, StaleState
from holdfast.core.ids import check_session_id
from holdfast.store.append import append, check_lease
from holdfast.store.children import ChildrenPatch, Rows, Upsert, upsert
from holdfast.store.engine import Tx
from holdfast.store.part import Part
from holdfast.store.projection import Projection, StateFacts, patched
from holdfast.store.reading import PAGE, Head, existing_head, head_of, stretch
from holdfast.store.replay import find_replays
from holdfast.store.rows import GET_STATE, PUT_STATE

Check = Callable[[Tx, Head | None, StateFacts], None]
"""Refuses a patch, by raising, for what it sees in the transaction that would make it; without a head, for that
there is no such session yet."""


class States(Part):
    """`store.state`."""

    __slots__ = ()

    async def get(self, session_id: str) -> State:
        """The current state; NotFound if there is no such session."""
        check_session_id(session_id)

        def run(tx: Tx) -> State:
            head = existing_head(tx, self.tenant, session_id)
            return as_state(session_id, current(tx, head))

        return await self.workers.read(run)

    async def patch(
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
    ) -> State:
        """The state after merging the patch into it; StaleState if it is not at the expected version.

        Goals and sub-agents that come with it are set in the same transaction. A retry under the same key is told the
        first result, whatever is expected or checked.
        """
        check_session_id(session_id)
        if not isinstance(patch, Mapping):
            raise InvalidInput("a patch must be a JSON object")
        body = strict_json.plain({"patch": dict(patch)})
        if children is not None:
            body["children"] = children.digest
        event = self.own_event(types.STATE_UPDATED, body, idempotency_key)

        def run(tx: Tx) -> State:
            head = head_of(tx, self.tenant, session_id)
            if head is None and not create:
                raise NotFound(f"there is no session {session_id!r}", session_id=session_id)
            facts = StateFacts()
            if head is not None:
                replay = find_replays(tx, head, [event])
                if replay:
                    return first_result(tx, head, session_id, replay[0].seq)
                facts = current(tx, head)
                if expected_version not in (None, facts.version):
                    raise stale(as_state(session_id, facts), expected_version)
                if lease is not None:
                    check_lease(tx, head, lease)
            elif expected_version not in (None, 0):
                raise stale(as_state(session_id, facts), expected_version)
            if check is not None:
                check(tx, head, facts)
            more = Upsert()
            if children is not None:
                more = upsert(children, self.own_event, self.ids, Rows(tx, head.session_no) if head else None)
            append(tx, self.tenant, session_id, [event, *more.events])
            after = patched(facts, body, event.created_at)
            session_no = head.session_no if head else existing_head(tx, self.tenant, session_id).session_no
            tx.run(PUT_STATE, session_no, after.version, strict_json.dump(after.document), after.updated_at)
            more.put(tx, session_no)
            return as_state(session_id, after)

        return await self.write(session_id, run)


def current(tx: Tx, head: Head) -> StateFacts:
    """The state as it is; version 0 if it never was."""
    row = tx.one(GET_STATE, head.session_no)
    return StateFacts() if row is None else StateFacts(row[0], strict_json.parse(row[1]), row[2])


def first_result(tx: Tx, head: Head, session_id: str, seq: int) -> State:
    """The state as the patch at this seq left it: what a retry of that patch is told."""
    derived, after = Projection(), 0
    while after < seq:
        events = stretch(tx, head, after, seq + 1, PAGE).events
        derived.add(each for each in events if each.type == types.STATE_UPDATED)
        after = events[-1].seq
    return as_state(session_id, derived.state)


def as_state(session_id: str, facts: StateFacts) -> State:
    """The facts as a caller sees them."""
    return State(session_id, facts.version, facts.document, facts.updated_at)


def stale(now: State, expected_version: int | None) -> StaleState:
    """The refusal of a patch that expected another version."""
    return StaleState(
        f"the state of session {now.session_id!r} is at version {now.version}, not {expected_version}",
        session_id=now.session_id,
        expected_version=expected_version,
        version=now.version,
        state=now.document,
    )
