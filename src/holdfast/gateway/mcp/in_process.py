"""The gateway's routes, asked from within it: each request goes through all layers, as the caller that the outer one
came from. So scopes, tenants, limits, errors and the audit log are the routes' own, and written once.

As over a connection, a read is ended when its caller goes and a write is not; `settled` waits for those.
"""

import asyncio
from urllib.parse import urlencode

from starlette.types import Message, Scope

from holdfast.core import strict_json
from holdfast.gateway.mcp.service import RouteRefusal, RouteRequest, too_large

CARRIED = frozenset({b"authorization", b"holdfast-tenant", b"host", b"user-agent"})
"""The headers that say who asks, and of whom. An Origin was judged on the way in."""


class InProcessService:
    """The service of the application that a request came to, as the request's caller."""

    def __init__(self, scope: Scope) -> None:
        self._app = scope["app"]
        self._outer = {name: scope.get(name) for name in ("type", "http_version", "scheme", "client", "server")}
        self._headers = [(name, value) for name, value in scope["headers"] if name in CARRIED]
        self._under_way: set[asyncio.Task[tuple[int, bytes]]] = set()

    async def ask(self, request: RouteRequest) -> bytes:
        """The answer's JSON."""
        exchange = _Exchange(request.content(), request.most_bytes)
        scope = self._scope(request, len(exchange.body))
        task = asyncio.create_task(self._answer(scope, exchange))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            status, content = await asyncio.shield(task)
        finally:
            exchange.gone.set()
        if status >= 400:
            raise RouteRefusal(strict_json.parse_own(content))
        if exchange.is_cut:
            raise too_large(request.most_bytes)
        return content

    async def settled(self) -> None:
        """Return when nothing of what was asked is under way any more."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    async def _answer(self, scope: Scope, exchange: "_Exchange") -> tuple[int, bytes]:
        await self._app(scope, exchange.receive, exchange.send)
        return exchange.status, b"".join(exchange.pieces)

    def _scope(self, request: RouteRequest, length: int) -> Scope:
        headers = [*self._headers, (b"content-type", b"application/json"), (b"content-length", b"%d" % length)]
        if request.key is not None:
            headers.append((b"idempotency-key", request.key.encode("latin-1")))
        return {
            **self._outer,
            "asgi": {"version": "3.0"},
            "method": request.method,
            "path": request.path,
            "raw_path": request.path.encode(),
            "root_path": "",
            "query_string": urlencode(request.parameters()).encode(),
            "headers": headers,
            "state": {},
        }


class _Exchange:
    """One request and its answer, of which no more than so many bytes are kept."""

    def __init__(self, body: bytes, most_bytes: int) -> None:
        self.body = body
        self.gone = asyncio.Event()
        """Whoever asked has gone."""
        self.status = 0
        self.pieces: list[bytes] = []
        self.is_cut = False
        self._left = most_bytes
        self._is_sent = False

    async def receive(self) -> Message:
        """The body; then, once it is so, that nobody waits."""
        if not self._is_sent:
            self._is_sent = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Take a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        piece = message.get("body", b"")
        self._left -= len(piece)
        if self._left < 0:
            self.is_cut = True
            self.pieces.clear()
        else:
            self.pieces.append(piece)
