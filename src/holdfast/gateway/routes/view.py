"""A session as it is shown: its row, state, goals, sub-agents and newest events, read at one moment.

An event that is not what was written is named as damaged and not shown: one of them does not hide the others.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.core import Event, Goal, Session, State, SubAgent, strict_json
from holdfast.core.clock import to_iso
from holdfast.core.errors import Corrupt
from holdfast.core.ids import check_session_id
from holdfast.gateway.routes.window import MOST_BYTES, PAGE, Window, is_entry, most, size_of
from holdfast.gateway.wire import children as wire_children
from holdfast.gateway.wire.queries import DamagedEvent
from holdfast.gateway.wire.sessions import WindowCursor, session_row
from holdfast.store import ReadLength, SessionSnapshot, SessionSummary, Store, StoreSnapshot

MOST_SEEN = 20_000
"""Events that one look goes back through for entries; the cursor leads on from there."""


@dataclass(frozen=True, slots=True)
class Children:
    """A session's newest goals and sub-agents, and how many older ones are left out because they are too many."""

    goals: list[Goal]
    agents: list[SubAgent]
    goals_omitted: int = 0
    agents_omitted: int = 0


@dataclass(frozen=True, slots=True)
class WholeSession:
    """A session at one moment."""

    session: Session
    state: State
    children: Children
    window: Window
    damaged: list[DamagedEvent]
    summary: SessionSummary | None = None


async def whole_session(store: Store, session_id: str, limit: int, *, summed_up: bool = False) -> WholeSession:
    """The session with the newest `limit` of its actions and responses; also its summary, if it is to be summed up."""
    check_session_id(session_id)

    def look(snapshot: StoreSnapshot) -> WholeSession:
        session = snapshot.session(session_id)
        summary = snapshot.summaries([session_id])[session_id] if summed_up else None
        window, damaged = _newest(session, limit)
        return WholeSession(session.description(), session.state(), children_in(session), window, damaged, summary)

    return await store.snapshot(look)


async def children_of(store: Store, session_id: str) -> Children:
    """The session's goals and sub-agents now; none if there is no such session."""

    return await store.snapshot(lambda snapshot: children_in(snapshot.find_session(session_id)), ReadLength.PAGE)


def state_view(session_id: str, version: int, document: dict[str, Any], children: Children) -> dict[str, Any]:
    """The state as clients see it. Members of the document that have our names give way.

    Older gateways kept the goals and sub-agents of a patch in the document: those that are not the session's own are
    shown after them, so that none disappears.
    """
    shown = children_view(children)
    for name, id_name in (("goals", "goalId"), ("agents", "agentId")):
        ours = {child[id_name] for child in shown[name]}
        kept = document.get(name)
        if isinstance(kept, msgspec.Raw):
            kept = strict_json.parse_own(bytes(kept))
        shown[name] += [each for each in kept if _name_of(each, id_name) not in ours] if isinstance(kept, list) else []
    return {**document, **shown, "sessionId": session_id, "version": version}


def _name_of(kept: Any, id_name: str) -> str | None:
    found = (kept.get(id_name) or kept.get("id")) if isinstance(kept, dict) else None
    return found if isinstance(found, str) else None


def children_view(children: Children) -> dict[str, Any]:
    """Goals and sub-agents as members of a state, and how many are left out if any are."""
    omitted = {"goalsOmitted": children.goals_omitted, "agentsOmitted": children.agents_omitted}
    return {
        "goals": [msgspec.to_builtins(wire_children.goal(goal)) for goal in children.goals],
        "agents": [agent_view(agent) for agent in children.agents],
        **{name: count for name, count in omitted.items() if count},
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


def children_in(session: SessionSnapshot | None) -> Children:
    """The session's newest goals and sub-agents at one moment; none if there is no session."""
    if session is None:
        return Children([], [])
    goals, goals_omitted = session.goals()
    agents, agents_omitted = session.agents()
    return Children(goals, agents, goals_omitted, agents_omitted)


def _newest(session: SessionSnapshot, limit: int) -> tuple[Window, list[DamagedEvent]]:
    found: list[Event] = []
    damaged: list[DamagedEvent] = []
    end = session.head_seq
    lowest, size = end + 1, limit
    while lowest > 1 and len(found) < limit and size_of(found) < MOST_BYTES and end - lowest < MOST_SEEN:
        lowest, page, bad = _page(session, lowest, size)
        found[:0] = [event for event in page if is_entry(event)]
        damaged[:0] = bad
        size = PAGE
    shown = found[-most(found[::-1], limit) :]
    older = shown[0].seq if len(shown) == limit or len(shown) < len(found) else lowest
    window = Window(shown, WindowCursor(older if older > 1 else None, end))
    return window, [each for each in damaged if each.seq >= older]


def _page(session: SessionSnapshot, before: int, size: int) -> tuple[int, list[Event], list[DamagedEvent]]:
    """The lowest seq of at most `size` events before a seq, the events, and which of them are damaged."""
    try:
        events = session.newest(before, size, MOST_BYTES).events
        return events[0].seq, events, []
    except Corrupt:
        pass
    good: list[Event] = []
    bad: list[DamagedEvent] = []
    lowest, total = max(before - size, 1), 0
    for seq in range(before - 1, lowest - 1, -1):
        try:
            good.append(session.event(seq))
            total += len(good[-1].payload)
        except Corrupt as error:
            bad.append(DamagedEvent(session.session_id, seq, error.message))
        if total >= MOST_BYTES:
            lowest = seq
            break
    return lowest, good[::-1], bad[::-1]
