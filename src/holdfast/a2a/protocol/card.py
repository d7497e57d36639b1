"""The agent card: what a client may expect of this server.

Strictly of version 1.0 unless asked otherwise: older clients look for members that a strict reader of 1.0 takes for
mistakes, so a card that both can read is a choice. An extended card is offered only where callers say who they are.
Clients keep the card for a while, and after that only ask whether it is still the same.
"""

import hashlib
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import Response

from holdfast.http.answers import JsonLine

Form = Literal["1.0", "0.3", "both"]

INPUT = ["text/plain", "application/json", "*/*"]
OUTPUT = ["text/plain", "application/json"]
JSON_RPC = "JSONRPC"
TOKEN = "bearer"
MAX_AGE_SECONDS = 300
DESCRIPTION = "An agent whose conversations survive: sessions are durable, turns run once and in order."
CONVERSATION = {
    "id": "conversation",
    "name": "Conversation",
    "description": "Answers in a conversation and remembers what was said in it.",
    "tags": ["conversation"],
}
APPROVAL = {
    "id": "approval",
    "name": "Approval",
    "description": "Asks before it acts, if it is told to, and waits for the answer as a task that is input-required.",
    "tags": ["approval"],
}


@dataclass(frozen=True, slots=True)
class AgentDescription:
    """What the card says of an agent; `asks_for_token` if every call needs one, `asks_for_approval` if it can be told
    to ask its user before it acts."""

    name: str
    version: str
    asks_for_token: bool = False
    asks_for_approval: bool = False


def agent_card(agent: AgentDescription, url: str, form: Form = "1.0") -> dict[str, Any]:
    """The card of an agent whose JSON-RPC endpoint is at `url`."""
    card: dict[str, Any] = {
        "name": agent.name,
        "description": DESCRIPTION,
        "version": agent.version,
        "capabilities": {"streaming": True, "pushNotifications": True},
        "defaultInputModes": INPUT,
        "defaultOutputModes": OUTPUT,
        "skills": [CONVERSATION, *([APPROVAL] if agent.asks_for_approval else [])],
    }
    scheme: dict[str, Any] = {}
    if form in ("1.0", "both"):
        spoken = ["1.0"] if form == "1.0" else ["1.0", "0.3"]
        card["capabilities"]["extendedAgentCard"] = agent.asks_for_token
        card["supportedInterfaces"] = [
            {"url": url, "protocolBinding": JSON_RPC, "protocolVersion": version} for version in spoken
        ]
        scheme["httpAuthSecurityScheme"] = {"scheme": "Bearer"}
        if agent.asks_for_token:
            card["securityRequirements"] = [{"schemes": {TOKEN: {"list": []}}}]
    if form in ("0.3", "both"):
        card |= {"url": url, "preferredTransport": JSON_RPC, "protocolVersion": "0.3.0"}
        card["supportsAuthenticatedExtendedCard"] = agent.asks_for_token
        scheme |= {"type": "http", "scheme": "Bearer"}
        if agent.asks_for_token:
            card["security"] = [{TOKEN: []}]
    if agent.asks_for_token:
        card["securitySchemes"] = {TOKEN: scheme}
    return card


def card_answer(request: Request, card: dict[str, Any], changed_at: float) -> Response:
    """The card, or 304 if the client has it; `changed_at` is the epoch second from which on it has been so."""
    answer = JsonLine(card)
    answer.headers["ETag"] = tag = f'"{hashlib.sha256(answer.body).hexdigest()[:32]}"'
    answer.headers["Cache-Control"] = f"public, max-age={MAX_AGE_SECONDS}"
    answer.headers["Last-Modified"] = formatdate(changed_at, usegmt=True)
    if not _has_it(request, tag, changed_at):
        return answer
    kept = {name: answer.headers[name] for name in ("ETag", "Cache-Control", "Last-Modified")}
    return Response(status_code=304, headers=kept)


def _has_it(request: Request, tag: str, changed_at: float) -> bool:
    """Whether the client has what has this tag; the date counts only where no tags are named."""
    tags = request.headers.getlist("if-none-match")
    if tags:
        named = {each.strip().removeprefix("W/") for each in ",".join(tags).split(",")}
        return not named.isdisjoint({tag, "*"})
    try:
        since = parsedate_to_datetime(request.headers.get("if-modified-since", ""))
        return since.timestamp() >= int(changed_at)
    except (ValueError, OverflowError):
        return False
