"""What every answer says to browsers: take it for what it is, show it in no frame, keep no copy, load nothing.

Nothing that the gateway answers is meant to be a page unless it says so itself: a header that an answer has already
is left alone.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)

NAMES = frozenset(name for name, _ in HEADERS)

_ANSWERS = frozenset({"http.response.start", "websocket.http.response.start"})


class SecurityHeaders:
    """The layer that adds them; the outermost, so that problems have them too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] in _ANSWERS:
                message["headers"] = with_headers(message.get("headers", ()))
            await send(message)

        await self._app(scope, receive, guarded)


def with_headers(headers: list[tuple[bytes, bytes]] | tuple[()]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, and those of ours that it does not have."""
    said = {name.lower() for name, _ in headers}
    if said.isdisjoint(NAMES):
        return [*headers, *HEADERS]
    return [*headers, *(each for each in HEADERS if each[0] not in said)]
