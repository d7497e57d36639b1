"""A gateway's sessions, as the destination of a guard."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from holdfast.cli.errors import GatewayRefusal
from holdfast.cli.gateway_sessions import FEW, GatewaySessions
from holdfast.cli.service import GatewayClient, at
from holdfast.core.errors import NotFound
from holdfast.core.event_bodies import SessionCreated
from holdfast.transcripts.guard import LogEnd, NewestLine
from holdfast.transcripts.masking import is_masked


class GuardedSessions(GatewaySessions):
    """The sessions that a service has, and what a guard asks of them."""

    def __init__(self, service: GatewayClient, there: set[str] | None = None) -> None:
        super().__init__(service)
        self._there = there
        """The sessions that there are, where that is known: nobody is asked for the others."""

    async def newest_line(self, session_id: str) -> NewestLine | None:
        """What there is of a session; None if there is no such session."""
        if self._there is not None and session_id not in self._there:
            return None
        try:
            found = await self._service.call("GET", at("/api/sessions/{}/resume", session_id), limit=1)
        except GatewayRefusal as refusal:
            if refusal.problem["status"] == NotFound.status:
                return None
            raise
        newest = next((each["eventId"] for each in found["events"]), None)
        return NewestLine(newest, is_masked(found["session"]["metadata"]))

    async def describe(self, session_id: str, body: SessionCreated) -> None:
        """Make a session with this description."""
        said = {
            "sessionId": session_id,
            "metadata": body.metadata,
            "tags": body.tags,
            "parentSession": body.parent_session,
            "agent": body.agent,
        }
        given = {name: value for name, value in said.items() if value is not None and value is not UNSET}
        await self._service.call("POST", "/api/sessions", body=given)
        if self._there is not None:
            self._there.add(session_id)

    async def log_ends(self, session_ids: Sequence[str]) -> dict[str, LogEnd]:
        """Where the logs of those of these sessions end that are there: of a few each is asked for, else all listed."""
        wanted = set(session_ids)
        if len(wanted) > FEW:
            return {each["sessionId"]: _end(each) async for each in self.rows() if each["sessionId"] in wanted}
        ends = {}
        for session_id in wanted:
            try:
                found = await self._service.call("GET", at("/api/sessions/{}/resume", session_id), limit=1)
            except GatewayRefusal as refusal:
                if not refusal.is_missing:
                    raise
            else:
                ends[session_id] = _end(found["session"])
        return ends


def _end(row: dict[str, Any]) -> LogEnd:
    return LogEnd(row["headSeq"], row["headHash"])
