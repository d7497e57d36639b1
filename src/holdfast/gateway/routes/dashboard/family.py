"""What is below a session: its sub-agents, and sessions that name it as their parent, with totals of each subtree."""

from collections import defaultdict
from collections.abc import Sequence

from fastapi import APIRouter
from msgspec.structs import asdict
from starlette.responses import Response

from holdfast.core import Session, SubAgent
from holdfast.core.ids import check_session_id
from holdfast.gateway.api.answers import document, json_answer
from holdfast.gateway.api.openapi import described
from holdfast.gateway.api.parameters import TenantStore
from holdfast.gateway.routes.queries import both, tokens
from holdfast.gateway.wire import children
from holdfast.gateway.wire.family import FamilyAgent, FamilySession, FamilyView, SubtreeTotals
from holdfast.gateway.wire.sessions import session_row
from holdfast.store import Family, FamilyMember, StoreSnapshot

MOST_AGENTS = 200
AGENT_ID = "agentId"


def add_routes(routes: APIRouter) -> None:
    """Serve `/api/sessions/{session_id}/children`."""

    @routes.get(
        "/api/sessions/{session_id}/children",
        summary="The sub-agents and sessions below a session, with totals",
        **described({200: FamilyView}),
    )
    async def get_children(store: TenantStore, session_id: str) -> Response:
        check_session_id(session_id)

        def look(snapshot: StoreSnapshot) -> FamilyView:
            session = snapshot.session(session_id)
            agents, omitted = session.agents()
            return family_view(session.family(), agents[-MOST_AGENTS:], omitted + max(len(agents) - MOST_AGENTS, 0))

        return json_answer(await store.snapshot(look))


def family_view(found: Family, agents: Sequence[SubAgent], omitted: int) -> FamilyView:
    """The family as clients see it."""
    totals = subtree_totals(found.members)
    own = {name: child for child in found.children for name in _agents_of(child)}
    return FamilyView(
        [_agent(agent, own.get(agent.agent_id), totals) for agent in agents],
        [
            FamilySession(**asdict(session_row(child, document(child.metadata))), totals=totals[child.session_id])
            for child in found.children
            if child.session_id in totals
        ],
        totals[found.members[0].session_id],
        found.truncated or omitted > 0,
    )


def subtree_totals(members: Sequence[FamilyMember]) -> dict[str, SubtreeTotals]:
    """What each member and all below it hold; parents come before their children."""
    sessions: dict[str, int] = defaultdict(lambda: 1)
    events = {member.session_id: member.events for member in members}
    used = {member.session_id: member.usage for member in members}
    for member in reversed(members):
        if member.parent is not None:
            sessions[member.parent] += sessions[member.session_id]
            events[member.parent] += events[member.session_id]
            used[member.parent] = both(used[member.parent], used[member.session_id])
    return {name: SubtreeTotals(sessions[name], events[name], tokens(used[name])) for name in events}


def _agents_of(child: Session) -> set[str]:
    """The ids of sub-agents whose session a child may be: its own id, or the one that its metadata names."""
    named = child.metadata.get(AGENT_ID)
    return {child.session_id, *([named] if isinstance(named, str) else [])}


def _agent(agent: SubAgent, own: Session | None, totals: dict[str, SubtreeTotals]) -> FamilyAgent:
    shown = asdict(children.agent(agent))
    if own is None:
        return FamilyAgent(**shown)
    return FamilyAgent(**shown, session_id=own.session_id, totals=totals.get(own.session_id))
