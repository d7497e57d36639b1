"""A session as it is shown: its row, state, goals, sub-agents and newest events, read at one moment."""

from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.core import Event, Goal, Session, State, SubAgent, strict_json
from holdfast.core.clock import to_iso
from holdfast.core.ids import check_session_id
from holdfast.gateway import wire_children
from holdfast.gateway.window import PAGE, Window, is_entry
from holdfast.gateway.wire import Cursor, session_row
from holdfast.store import Store
from holdfast.store.agents import agents_of
from holdfast.store.engine import Tx
from holdfast.store.goals import goals_of
from holdfast.store.reading import Head, existing_head, head_of, read
from holdfast.store.sessions import get
from holdfast.store.state import as_state, current

MOST_SEEN = 20_000
"""Events that one look goes back through for entries; the cursor leads on from there."""


@dataclass(frozen=True, slots=True)
class Children:
    """A session's goals and sub-agents, all of them."""

    goals: list[Goal]
    agents: list[SubAgent]


@dataclass(frozen=True, slots=True)
class Whole:
    """A session at one moment."""

    session: Session
    state: State
    children: Children
    window: Window


async def whole(store: Store, session_id: str, limit: int) -> Whole:
    """The session with the newest `limit` of its actions and responses."""
    check_session_id(session_id)

    def look(tx: Tx) -> Whole:
        head = existing_head(tx, store.tenant, session_id)
        session = get(tx, store.tenant, session_id)
        state = as_state(session_id, current(tx, head))
        return Whole(session, state, _children(tx, head), _newest(tx, head, limit))

    return await store.sessions.workers.read(look)


async def state_and_children(store: Store, session_id: str) -> tuple[State, Children]:
    """The session's state, with its goals and sub-agents as of the same moment."""
    check_session_id(session_id)

    def look(tx: Tx) -> tuple[State, Children]:
        head = existing_head(tx, store.tenant, session_id)
        return as_state(session_id, current(tx, head)), _children(tx, head)

    return await store.sessions.workers.read(look)


async def children_of(store: Store, session_id: str) -> Children:
    """The session's goals and sub-agents now; none if there is no such session."""

    def look(tx: Tx) -> Children:
        head = head_of(tx, store.tenant, session_id)
        return _children(tx, head) if head is not None else Children([], [])

    return await store.sessions.workers.read(look)


def state_view(session_id: str, version: int, document: dict[str, Any], children: Children) -> dict[str, Any]:
    """The state as clients see it. Members of the document that have our names give way, unless ours say nothing."""
    shown = {name: found for name, found in children_view(children).items() if found or name not in document}
    return {**document, **shown, "sessionId": session_id, "version": version}


def children_view(children: Children) -> dict[str, list[dict[str, Any]]]:
    """Goals and sub-agents as members of a state."""
    return {
        "goals": [msgspec.to_builtins(wire_children.goal(goal)) for goal in children.goals],
        "agents": [agent_view(agent) for agent in children.agents],
    }


def agent_view(agent: SubAgent) -> dict[str, Any]:
    """The sub-agent as a JSON value."""
    shown: dict[str, Any] = strict_json.parse(msgspec.json.encode(wire_children.agent(agent)))
    return shown


def metadata_view(session: Session) -> dict[str, Any]:
    """The session's own metadata, with the members of its list row on top."""
    row: dict[str, Any] = msgspec.to_builtins(session_row(session, session.metadata))
    return {**session.metadata, **row}


def final_view(session: Session) -> dict[str, Any] | None:
    """How the session ended, or None."""
    if session.final is None:
        return None
    return {**session.final, "at": to_iso(session.final["at"])}


def _children(tx: Tx, head: Head) -> Children:
    return Children(goals_of(tx, head.session_no, open_only=False), agents_of(tx, head.session_no, active_only=False))


def _newest(tx: Tx, head: Head, limit: int) -> Window:
    found: list[Event] = []
    lowest, size = head.seq + 1, limit
    while lowest > 1 and len(found) < limit and head.seq - lowest < MOST_SEEN:
        page = read(tx, head, 0, lowest, size, newest=True)
        found[:0] = [event for event in page if is_entry(event)]
        lowest, size = page[0].seq, PAGE
    found = found[-limit:]
    older = found[0].seq if len(found) == limit else lowest
    return Window(found, Cursor(older if older > 1 else None, head.seq))
