"""Sessions and memories as resources: each URI stands for a call of a tool that reads.

holdfast://sessions/{sessionId}                 description, state, newest actions and responses
holdfast://sessions/{sessionId}/resume          all that is needed to go on
holdfast://sessions/{sessionId}/state           the working document, goals and sub-agents
holdfast://sessions/{sessionId}/events/{seq}    one event, whole
holdfast://memories/{namespace}/{key}           a memory; both names percent-encoded
"""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import msgspec

from holdfast.core.errors import NotFound
from holdfast.gateway.mcp.service import SessionService
from holdfast.gateway.mcp.tools import BY_NAME
from holdfast.gateway.wire.sessions import SessionList

ROOT = "holdfast://"
LONGEST = 4_000
"""Of a URI; the longest that stands for anything is two names of 512 characters, percent-encoded."""

_sessions = msgspec.json.Decoder(SessionList).decode


@dataclass(frozen=True, slots=True)
class SessionResource:
    """A session in the list of resources."""

    uri: str
    session_id: str
    description: str
    changed_at: str


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """A kind of resource: the template of its URIs, and the tool that reads one."""

    name: str
    template: str
    title: str
    tool: str

    def arguments(self, uri: str) -> dict[str, Any] | None:
        """What the tool is asked for a URI of this kind; None for another."""
        names = re.split(r"\{(\w+)\}", self.template)
        pattern = "".join(re.escape(each) if place % 2 == 0 else "([^/?#]+)" for place, each in enumerate(names))
        found = re.fullmatch(pattern, uri)
        if found is None:
            return None
        given: dict[str, Any] = dict(zip(names[1::2], map(unquote, found.groups()), strict=True))
        if "seq" in given:
            given["seq"] = int(given["seq"]) if re.fullmatch(r"[0-9]{1,18}", given["seq"]) else 0
        return given


KINDS = (
    ResourceKind("session", ROOT + "sessions/{sessionId}", "A session", "show_session"),
    ResourceKind("resume", ROOT + "sessions/{sessionId}/resume", "What is needed to go on", "resume_session"),
    ResourceKind("state", ROOT + "sessions/{sessionId}/state", "A session's state and goals", "get_state"),
    ResourceKind("event", ROOT + "sessions/{sessionId}/events/{seq}", "One event, whole", "read_event"),
    ResourceKind("memory", ROOT + "memories/{namespace}/{key}", "A memory", "get_memory"),
)


async def read_resource(service: SessionService, uri: str) -> bytes:
    """The JSON that a URI stands for; NotFound if it stands for nothing."""
    for kind in KINDS if len(uri) <= LONGEST else ():
        given = kind.arguments(uri)
        if given is not None:
            return await BY_NAME[kind.tool].call(service, given)
    raise NotFound(f"{uri!r:.200} is no resource", hint=f"for example {KINDS[0].template}")


async def list_resources(service: SessionService, cursor: str | None) -> tuple[list[SessionResource], str | None]:
    """One page of the sessions as resources, newest first, and the cursor of the next."""
    page = _sessions(await BY_NAME["list_sessions"].call(service, {"cursor": cursor, "limit": 50}))
    shown = [
        SessionResource(
            f"{ROOT}sessions/{each.session_id}",
            each.session_id,
            f"{each.status}, {each.head_seq} events, agent {each.agent}",
            each.updated_at,
        )
        for each in page.sessions
    ]
    return shown, page.cursor
