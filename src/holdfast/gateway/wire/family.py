"""The family of a session, on the wire: its sub-agents, and the sessions that name it as their parent."""

from msgspec import Struct

from holdfast.gateway.wire.children import SubAgentView
from holdfast.gateway.wire.queries import TokenCounts
from holdfast.gateway.wire.sessions import SessionRow


class SubtreeTotals(Struct):
    """What a session and all below it hold."""

    sessions: int
    events: int
    tokens: TokenCounts


class FamilyAgent(SubAgentView, kw_only=True, rename="camel", omit_defaults=True):
    """A sub-agent; one that has a session of its own also has its id, and what that and all below it hold."""

    session_id: str | None = None
    totals: SubtreeTotals | None = None


class FamilySession(SessionRow, kw_only=True, rename="camel"):
    """A session that names this one as its parent, and what it and all below it hold."""

    totals: SubtreeTotals


class FamilyView(Struct):
    """The newest sub-agents of a session and the sessions below it, 200 of each at most, with what all of them hold.

    `truncated` says that there are more, or that they go deeper than eight levels.
    """

    agents: list[FamilyAgent]
    sessions: list[FamilySession]
    totals: SubtreeTotals
    truncated: bool
