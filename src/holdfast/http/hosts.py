"""Only what is meant for a server reaches it: requests to a name of its own, and from no other site's page.

A page can lead a browser here by a name of its own that suddenly means this machine (DNS rebinding): so the Host must
be a loopback one, or one that the server was told. A page can also ask openly, and a browser lets it open a WebSocket
to any site: so the Origin, where there is one, must be the server's own, port included, since another program on this
machine may serve pages as well. Names are compared as they were sent; whatever is not plainly a host is nobody's.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.core import HoldfastError
from holdfast.core.errors import InvalidInput
from holdfast.core.loopback import address_in, is_loopback
from holdfast.http.answers import problem_answer, refuse_upgrade

SITE = re.compile(rb"(?:\[([0-9a-f:.]+)\]|([a-z0-9_-]+(?:\.[a-z0-9_-]+)*))(?::([0-9]{1,5}))?", re.I)
PORTS = {b"http": 80, b"https": 443}
OWN_FETCHES = frozenset({b"same-origin", b"none"})
"""What a browser says of a request that no other site's page is behind."""
PREFLIGHT_SECONDS = 600

Headers = Sequence[tuple[bytes, bytes]]


class WrongHost(HoldfastError):
    """The request names a host that we are not: a web page may have led a browser here by a name of its own."""

    code = "wrong_host"
    status = 421
    hint = "use the address that was printed at the start, or have this name allowed"


class ForeignOrigin(HoldfastError):
    """A web page of another site sent the request."""

    code = "foreign_origin"
    status = 403
    hint = "open the page from the server's own address, or send no Origin header"


class HostPort(NamedTuple):
    """A host, and the port if one is named."""

    host: str
    port: int | None


class WebPage(NamedTuple):
    """Where a web page comes from."""

    host: str
    port: int
    usual_port: int

    def is_of(self, server: HostPort) -> bool:
        """Whether the page was served by this server."""
        return (self.host, self.port) == (server.host, self.usual_port if server.port is None else server.port)


class HostCheck:
    """Lets through what was sent to a loopback name or one of `hosts`, by no page but our own or one of `origins`.

    `any_host` is for servers that ask everybody for a token: a page that leads a browser here has none.
    """

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str], origins: Iterable[bytes] = (), *, any_host: bool = False
    ) -> None:
        self._app = app
        self._any_host = any_host
        self._hosts = frozenset(host.lower() for host in hosts)
        self._any_address = any(_is_unspecified(host) for host in self._hosts)
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        origin, refusal = self._judge(scope["headers"])
        if refusal is not None:
            answer = problem_answer(refusal)
            if scope["type"] == "http":
                await answer(scope, receive, send)
            else:
                await refuse_upgrade(answer, scope, receive, send)
        elif origin is None or scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            await _preflight(scope["headers"], origin)(scope, receive, send)
        else:
            await self._app(scope, receive, _shown_to(origin, send))

    def _judge(self, headers: Headers) -> tuple[bytes | None, HoldfastError | None]:
        """The other site whose page this is for, if that is allowed; or why it is refused."""
        hosts, origins, fetch, mode = [], [], b"none", b""
        for name, value in headers:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                origins.append(value)
            elif name == b"sec-fetch-site":
                fetch = value
            elif name == b"sec-fetch-mode":
                mode = value
        server = host_port_of(hosts[0]) if len(hosts) == 1 else None
        if server is None or not self._is_ours(server.host):
            return None, WrongHost(f"the request is for the host {_shown(hosts)}, which this is not")
        if not origins:
            foreign = fetch not in OWN_FETCHES and mode != b"navigate"
            return None, ForeignOrigin("the request comes from a page of another site") if foreign else None
        if len(origins) == 1:
            if origins[0].lower() in self._origins:
                return origins[0], None
            page = page_of(origins[0])
            if page is not None and page.is_of(server):
                return None, None
        return None, ForeignOrigin(f"the request comes from a page of {_shown(origins)}")

    def _is_ours(self, host: str) -> bool:
        if self._any_host or is_loopback(host) or host in self._hosts:
            return True
        return self._any_address and address_in(host) is not None


@lru_cache(maxsize=1024)
def host_port_of(value: bytes) -> HostPort | None:
    """What a Host header names, or None if it is not a host."""
    found = SITE.fullmatch(value)
    if found is None:
        return None
    address, name, port = found.groups()
    if address is not None and address_in(address.decode()) is None:
        return None
    return HostPort((address or name).decode().lower(), None if port is None else int(port))


@lru_cache(maxsize=1024)
def page_of(value: bytes) -> WebPage | None:
    """What an Origin header names, or None if it is not a web site."""
    scheme, _, rest = value.partition(b"://")
    usual, place = PORTS.get(scheme.lower()), host_port_of(rest)
    if usual is None or place is None:
        return None
    return WebPage(place.host, usual if place.port is None else place.port, usual)


def parse_origin(text: str) -> bytes:
    """An origin as browsers send it, or InvalidInput."""
    origin = text.lower().encode(errors="replace")
    if page_of(origin) is None:
        raise InvalidInput(f"{text!r:.200} is not an origin", hint="for example https://app.example:8443, with no path")
    return origin


def _is_unspecified(host: str) -> bool:
    address = address_in(host)
    return address is not None and address.is_unspecified


def _shown(values: Sequence[bytes]) -> str:
    return f"{b', '.join(values).decode('latin-1')!r:.200}"


def _preflight(headers: Headers, origin: bytes) -> Response:
    """What a browser asks before it lets an allowed page send a request: it may send any."""
    asked = dict(headers)
    allowed = {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": asked.get(b"access-control-request-method", b"GET"),
        "Access-Control-Allow-Headers": asked.get(b"access-control-request-headers", b""),
        "Access-Control-Max-Age": b"%d" % PREFLIGHT_SECONDS,
        "Vary": b"Origin",
    }
    return Response(status_code=204, headers={name: value.decode("latin-1") for name, value in allowed.items()})


def _shown_to(origin: bytes, send: Send) -> Send:
    """The same answers, which a page of this origin may read."""

    async def shown(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                *message.get("headers", ()),
                (b"access-control-allow-origin", origin),
                (b"access-control-expose-headers", b"ETag, Retry-After, Location"),
                (b"vary", b"Origin"),
            ]
        await send(message)

    return shown
