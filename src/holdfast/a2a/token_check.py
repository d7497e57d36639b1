"""One token that all callers of a standalone server have: without it, only the card and the health are answered."""

import hmac
from collections.abc import Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.core import HoldfastError
from holdfast.http.answers import problem_answer

OPEN_PATHS = frozenset({"/.well-known/agent-card.json", "/agent-card", "/health"})
"""What whoever starts, finds or watches an agent asks for, before anybody has a token."""
BEARER = b"bearer "


class UnknownCaller(HoldfastError):
    """The request has no token, or not the one that this server asks for."""

    code = "unauthorized"
    status = 401
    hint = "send Authorization: Bearer with the token that the agent was started with"


class TokenCheck:
    """Lets through what carries the token, and what asks for the card or the health."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._is_known(scope["headers"]):
            await self._app(scope, receive, send)
            return
        refusal = UnknownCaller("this agent asks for a token")
        await problem_answer(refusal, {"WWW-Authenticate": "Bearer"})(scope, receive, send)

    def _is_known(self, headers: Sequence[tuple[bytes, bytes]]) -> bool:
        said = [value for name, value in headers if name == b"authorization"]
        if len(said) != 1 or said[0][: len(BEARER)].lower() != BEARER:
            return False
        return hmac.compare_digest(said[0][len(BEARER) :].strip(), self._token)
