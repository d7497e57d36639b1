"""What comes in and how it is answered: counted for `/metrics`, and told to the log.

A request is counted under the template of its route, never its path: what can be counted apart is bounded, and says
nothing of any session or tenant. The log has a line for each request that failed or was slow, or for every one if that
is asked for; a flood of the first kind is told as a number.
"""

import logging
import time
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.gateway.access.auth import CALLER
from holdfast.gateway.operations.logs import Logs, shortened
from holdfast.http.server_sent_events import EVENTS

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Of the time that an answer takes, in seconds."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "OTHER"
NO_ROUTE = "none"
REFUSALS = frozenset({401, 403, 413, 421, 429, 503, 507})
SSE = "sse"
WEBSOCKET = "websocket"
SWITCHED = 101
BROKEN = 499
"""The status of a request that got no answer: its client went, or the answer broke off before it began."""
LINES_A_SECOND = 50
LONGEST_PATH = 300
MOST_CODES = 200
LONGEST_CODE = 64

log = logging.getLogger("holdfast.gateway.requests")


class _Coded(msgspec.Struct):
    code: str


_decode = msgspec.json.Decoder(_Coded).decode


@dataclass(slots=True)
class RequestDurations:
    """Requests of one kind: how many, and how long they took."""

    seconds: float = 0.0
    by_time: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    """How many took at most each of the bounds, and more than the last; each request is counted once."""


@dataclass(slots=True)
class Counts:
    """What a gateway has answered since it started, and what is under way."""

    answered: dict[tuple[str, str, int], RequestDurations] = field(default_factory=dict)
    """By method, the route's template and the hundreds of the status."""
    refused: Counter[int] = field(default_factory=Counter)
    """By status."""
    codes: Counter[str] = field(default_factory=Counter)
    """Of the answers that were problems, by their code; of others with a status from 400 on, by that."""
    under_way: int = 0
    live: Counter[str] = field(default_factory=Counter)
    """Connections that last, by kind."""

    def answer(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        kind = (method, route, status // 100)
        found = self.answered.get(kind)
        if found is None:
            found = self.answered[kind] = RequestDurations()
        found.seconds += seconds
        found.by_time[bisect_left(BOUNDS, seconds)] += 1
        if status in REFUSALS:
            self.refused[status] += 1

    def failed(self, status: int, problem: bytes) -> None:
        """A request was answered with a status from 400 on, and this body."""
        code = code_of(problem) or str(status)
        if code in self.codes or len(self.codes) < MOST_CODES:
            self.codes[code[:LONGEST_CODE]] += 1


class Traffic:
    """The layer that counts and tells; the outermost, so that it sees what really leaves."""

    def __init__(self, app: ASGIApp, counts: Counts, logs: Logs) -> None:
        self._app = app
        self._counts = counts
        self._request_log = RequestLog(logs)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._request(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._connection(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        counts = self._counts
        began = time.perf_counter()
        status, size, started, said = BROKEN, 0, None, b""
        method = scope["method"] if scope["method"] in METHODS else OTHER

        async def counted(message: Message) -> None:
            nonlocal status, size, started, said
            if message["type"] == "http.response.start":
                status = message["status"]
                if _is_feed(message):
                    started = time.perf_counter()
                    counts.live[SSE] += 1
                    counts.answer(method, route_of(scope), status, started - began)
            else:
                body = message.get("body", b"")
                size += len(body)
                if status >= 400:
                    said = said or body
            await send(message)

        counts.under_way += 1
        try:
            await self._app(scope, receive, counted)
        finally:
            counts.under_way -= 1
            seconds = (started or time.perf_counter()) - began
            if started is not None:
                counts.live[SSE] -= 1
            else:
                counts.answer(method, route_of(scope), status, seconds)
            if status >= 400:
                counts.failed(status, said)
            self._request_log.request(scope, method, status, seconds, size, said)

    async def _connection(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A WebSocket is counted when it begins and while it lasts; a refusal is an answer like any other."""
        began = time.perf_counter()
        refused: int | None = None

        async def watched(message: Message) -> None:
            nonlocal refused
            if message["type"] == "websocket.http.response.start":
                refused = message["status"]
            elif message["type"] == "websocket.accept":
                self._counts.answer("GET", route_of(scope), SWITCHED, time.perf_counter() - began)
            await send(message)

        self._counts.live[WEBSOCKET] += 1
        try:
            await self._app(scope, receive, watched)
        finally:
            self._counts.live[WEBSOCKET] -= 1
            seconds = time.perf_counter() - began
            if refused is None:
                self._request_log.connection(scope, seconds)
            else:
                self._counts.answer("GET", route_of(scope), refused, seconds)
                self._counts.failed(refused, b"")
                self._request_log.request(scope, "GET", refused, seconds, 0)


class RequestLog:
    """Which requests the log has a line for."""

    def __init__(self, logs: Logs) -> None:
        self._all = logs.requests
        self._slow_seconds = logs.slow_ms / 1000
        self._second = 0
        self._told = 0
        self._untold = 0

    def request(self, scope: Scope, method: str, status: int, seconds: float, size: int, problem: bytes = b"") -> None:
        """Tell of a request if it is worth it, and which problem it was answered with."""
        if not self._all:
            if status < 400 and seconds < self._slow_seconds:
                return
            if self._too_many():
                return
        level = logging.WARNING if status >= 500 and status not in REFUSALS else logging.INFO
        if log.isEnabledFor(level):
            fields = {**_fields(scope, seconds), "method": method, "status": status, "bytes": size}
            code = code_of(problem)
            if code is not None:
                fields["code"] = code
            said = f"{method} {fields['route']} {status}" + (f" {code}" if code else "")
            log.log(level, "%s", said, extra={"fields": fields})

    def connection(self, scope: Scope, seconds: float) -> None:
        """Tell of a WebSocket that ended."""
        if self._all:
            log.info("WebSocket %s ended", route_of(scope), extra={"fields": _fields(scope, seconds)})

    def _too_many(self) -> bool:
        """Whether this second has had its lines; the next one says how many it did not."""
        now = int(time.monotonic())
        if now != self._second:
            if self._untold:
                log.warning("%d more requests failed or were slow", self._untold)
            self._second, self._told, self._untold = now, 0, 0
        if self._told >= LINES_A_SECOND:
            self._untold += 1
            return True
        self._told += 1
        return False


def route_of(scope: Scope) -> str:
    """The template of the route that was found for a request."""
    route = scope.get("route") or _plain_route(scope)
    return str(getattr(route, "path", NO_ROUTE))


def _plain_route(scope: Scope) -> BaseRoute | None:
    """The route of a request whose endpoint alone is known: FastAPI's router names only routes of its own kind."""
    endpoint = scope.get("endpoint")
    if endpoint is None:
        return None
    for route in scope["app"].routes:
        ours = isinstance(route, Route | WebSocketRoute) and route.endpoint == endpoint
        if ours and route.path_regex.match(scope["path"]):
            scope["route"] = route
            return cast("BaseRoute", route)
    return None


def code_of(problem: bytes) -> str | None:
    """The code of a problem, if this is one."""
    try:
        return _decode(problem).code
    except (msgspec.DecodeError, UnicodeError):
        return None


def _fields(scope: Scope, seconds: float) -> dict[str, Any]:
    caller = scope.get(CALLER)
    client = scope.get("client")
    return {
        "route": route_of(scope),
        "path": shortened(scope["path"], LONGEST_PATH),
        "ms": round(seconds * 1000, 1),
        "caller": None if caller is None else caller.name,
        "client": None if client is None else client[0],
    }


def _is_feed(message: Message) -> bool:
    """Whether an answer begins that goes on for as long as the client likes."""
    for name, value in message.get("headers", ()):
        if name == b"content-type":
            return bool(value.startswith(EVENTS.encode()))
    return False
