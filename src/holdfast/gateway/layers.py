"""What every request passes on its way in, outermost first. Each layer is a plain ASGI class.

Problems    whatever is raised leaves as a problem; a defect of ours is logged and not shown
HostCheck   the request is meant for us: Host against DNS rebinding, Origin against other sites' pages
BodyLimit   no more of a body is taken than the limit
BusyRoutes  the busy routes are answered here, before the framework's own layers and its router
"""

import ipaddress
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.core import HoldfastError
from holdfast.core.errors import TooLarge
from holdfast.gateway.answers import problem_answer
from holdfast.gateway.errors import ForeignOrigin, Unexpected, WrongHost

MAX_BODY = 16 * 1024 * 1024
MAX_ARCHIVE = 8 * 1024**3

log = logging.getLogger("holdfast.gateway")


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
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            return
        except Exception as error:
            if started:
                raise
            if not isinstance(error, HoldfastError):
                log.exception("%s %s failed", scope["method"], scope["path"])
                error = Unexpected("something went wrong inside the gateway")
            await problem_answer(error)(scope, receive, send)


class HostCheck:
    """Lets through what was sent to a loopback name, or to the host we are bound to, and by no foreign page."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] in {"http", "websocket"} else None
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await problem_answer(refusal)(scope, receive, send)
        else:
            await _refuse_upgrade(problem_answer(refusal), scope, receive, send)

    def _refusal(self, scope: Scope) -> HoldfastError | None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._ours(b"http://" + hosts[0]):
            named = b", ".join(hosts).decode("latin-1")
            return WrongHost(f"the request is for the host {named!r:.200}, which this is not")
        for origin in (value for name, value in scope["headers"] if name == b"origin"):
            if not self._ours(origin):
                return ForeignOrigin(f"the request comes from a page of {origin.decode('latin-1')!r:.200}")
        return None

    def _ours(self, url: bytes) -> bool:
        host = _host_of(url)
        return host is not None and (host in self._hosts or is_loopback(host))


@lru_cache(maxsize=1024)
def _host_of(url: bytes) -> str | None:
    """The host that a web address names, or None if it is no web address."""
    try:
        found = urlsplit(url.decode("ascii"))
        return found.hostname if found.scheme in {"http", "https"} else None
    except ValueError:
        return None


class BodyLimit:
    """Refuses a body that says it is too long at once, and any other as soon as it is; some paths take more."""

    def __init__(self, app: ASGIApp, limit: int = MAX_BODY, others: Mapping[str, int] | None = None) -> None:
        self._app = app
        self._limit = limit
        self._others = others or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._others.get(scope["path"], self._limit)
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > limit:
                raise _too_large(limit)
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit:
                raise _too_large(limit)
            return message

        await self._app(scope, counted, send)


class BusyRoutes:
    """Calls a busy route's endpoint itself; everything else, also a wrong method, goes on to the router."""

    def __init__(self, app: ASGIApp, routes: Sequence[Route]) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for route in self._routes:
                match, found = route.matches(scope)
                if match is Match.FULL:
                    scope.update(found)
                    answer: Response = await route.endpoint(Request(scope, receive, send))
                    await answer(scope, receive, send)
                    return
        await self._app(scope, receive, send)


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Whether a name or address always means this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is longer than {limit} bytes", limit=limit)


async def _refuse_upgrade(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    if "websocket.http.response" in scope.get("extensions", {}):
        await answer(scope, receive, send)
    else:
        await send({"type": "websocket.close", "code": 1008})
