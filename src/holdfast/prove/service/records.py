"""All that the service has of a session, read over its API."""

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from typing import Any

from holdfast.core import strict_json
from holdfast.prove.live.api import GatewayApi, at

PAGE = 500


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session, its state, and its actions and responses from the first on."""

    session: dict[str, Any]
    state: dict[str, Any]
    actions: list[dict[str, Any]]
    responses: list[dict[str, Any]]

    def of_types(self, kinds: Collection[str]) -> list[dict[str, Any]]:
        """The actions of these types."""
        return [action for action in self.actions if action["type"] in kinds]


async def read(api: GatewayApi, session_id: str) -> SessionRecord:
    """Read it, a page of events at a time; ClaimBroken if the service does not have it."""
    session = await api.must("session", "GET", at("/api/sessions/{}", session_id), limit=1)
    state = await api.must("state", "GET", at("/api/state/{}", session_id))
    actions: list[dict[str, Any]] = []
    responses: list[dict[str, Any]] = []
    async for event in _events(api, session_id):
        if event["type"] == "holdfast.response":
            responses.append(event)
        elif not event["type"].startswith("holdfast."):
            actions.append(event)
    return SessionRecord(session, state, actions, responses)


async def verify(api: GatewayApi, sessions: list[str] | None) -> dict[str, str]:
    """What is wrong with the logs of these sessions, or of all, by the service's own verification; empty if nothing."""
    answer = await api.ask("verify", "POST", "/api/verify", {"sessions": sessions})
    lines = [strict_json.parse_own(line) for line in answer.raw.splitlines() if line]
    found = {str(line["sessionId"]): line for line in lines if isinstance(line, dict) and "sessionId" in line}
    return {
        session_id: str(found[session_id].get("problem") or "it is not whole") if session_id in found else "not there"
        for session_id in (found if sessions is None else sessions)
        if session_id not in found or not found[session_id].get("ok")
    }


async def _events(api: GatewayApi, session_id: str) -> AsyncIterator[dict[str, Any]]:
    """Every event of the log, oldest first."""
    after = 0
    while True:
        path = at("/api/sessions/{}/events", session_id)
        found = await api.must("events", "GET", path, after=after, limit=PAGE)
        for event in found["events"]:
            yield event
        if len(found["events"]) == 0:
            return
        after = int(found["events"][-1]["seq"])
