"""What every request passes on its way in, outermost first. Each layer is a plain ASGI class.

LastAnswers      a gateway that drains tells connections to close
SecurityHeaders  every answer tells browsers what not to do with it (headers)
Problems         whatever is raised leaves as a problem; a defect of ours is logged and not shown
HangUps          a read whose client has gone is ended (hang_ups)
HostCheck        the request is meant for us: Host against DNS rebinding, Origin against other sites' pages (hosts)
Auth             who asks, and for which tenant (auth)
RateLimit        nobody asks more often than they may (rates)
Audits           what needs more than to write is written down first (audit)
BodyLimit        no more of a body is taken than the limit, nor more of all bodies together than fits into memory
BusyRoutes       the busy routes are answered here, before the framework's own layers and its router
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.core import HoldfastError
from holdfast.core.errors import Busy, TooLarge
from holdfast.gateway.access.auth import tenant_of
from holdfast.gateway.connections.limits import ConnectionLimits
from holdfast.gateway.connections.pieces import NoRoom
from holdfast.gateway.errors import Unexpected
from holdfast.http.answers import problem_answer

log = logging.getLogger("holdfast.gateway")


class LastAnswers:
    """Has connections closed with their next answer, once the gateway drains: who comes again goes elsewhere."""

    def __init__(self, app: ASGIApp, draining: Callable[[], bool]) -> None:
        self._app = app
        self._draining = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def last(message: Message) -> None:
            if message["type"] == "http.response.start" and self._draining():
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        await self._app(scope, receive, last if scope["type"] == "http" else send)


class Problems:
    """The last resort: nothing leaves as anything but an answer or a problem."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            await send(message)
            started = True

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            return
        except Exception as raised:
            if started:
                raise
            error = raised.refusal if isinstance(raised, NoRoom) else raised
            if not isinstance(error, HoldfastError):
                log.exception("%s %s failed", scope["method"], scope["path"])
                error = Unexpected("something went wrong inside the gateway")
            await problem_answer(error)(scope, receive, send)


class BodyLimit:
    """Refuses a body that says it is too long at once, and any other as soon as it is; all bodies that are in memory
    share a total, of which a tenant that has half of it leaves the last quarter to others. Some paths have limits of
    their own, and those that take files keep their bodies `on_disk`."""

    def __init__(
        self,
        app: ASGIApp,
        limits: ConnectionLimits,
        on_disk: Mapping[str, int],
        other: Mapping[str, int] | None = None,
    ) -> None:
        self._app = app
        self._limit = limits.max_body
        self._total = limits.max_bodies
        self._on_disk = on_disk
        self._other = other or {}
        self._held = 0
        self._of_tenants: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        in_memory = path not in self._on_disk
        tenant = tenant_of(scope)
        limit = self._other.get(path, self._limit) if in_memory else self._on_disk[path]
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > limit:
                raise _too_large(limit)
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            piece = len(message.get("body", b""))
            taken += piece
            if in_memory:
                self._hold(tenant, piece)
            if taken > limit:
                raise _too_large(limit)
            if in_memory and piece and not self._has_room(tenant):
                raise Busy("the requests under way are as large as fits into memory", retry_after=1)
            return message

        try:
            await self._app(scope, counted, send)
        finally:
            if in_memory:
                self._hold(tenant, -taken)

    def _hold(self, tenant: str, size: int) -> None:
        self._held += size
        self._of_tenants[tenant] += size
        if not self._of_tenants[tenant]:
            del self._of_tenants[tenant]

    def _has_room(self, tenant: str) -> bool:
        large = self._of_tenants[tenant] > self._total // 2
        return self._held <= (self._total - self._total // 4 if large else self._total)


class BusyRoutes:
    """Calls a busy route's endpoint itself; everything else, also a wrong method, goes on to the router."""

    def __init__(self, app: ASGIApp, routes: Sequence[Route]) -> None:
        self._app = app
        self._routes = [(route.methods or set(), route.path_regex, route) for route in routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for methods, pattern, route in self._routes:
                found = pattern.match(scope["path"]) if scope["method"] in methods else None
                if found:
                    scope.update(path_params=found.groupdict(), route=route)
                    answer: Response = await route.endpoint(Request(scope, receive, send))
                    await answer(scope, receive, send)
                    return
        await self._app(scope, receive, send)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is longer than {limit} bytes", limit=limit)
